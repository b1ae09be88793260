#include "common/floor_run.hpp"

#include <iostream>
#include <random>
#include <stdexcept>
#include <string_view>

namespace redlock::bench {
namespace {

floor_run::clock::duration duration(double seconds)
{
    return std::chrono::duration_cast<floor_run::clock::duration>(
        std::chrono::duration<double>(seconds));
}

constexpr std::size_t counter_digits = 16;

// Byte for byte the script of the other Redlock clients.
constexpr std::string_view release_script = R"(if redis.call("get",KEYS[1]) == ARGV[1] then )"
                                            R"(return redis.call("del",KEYS[1]) else return 0 end)";

std::string hex(std::uint64_t value, std::size_t digits)
{
    std::string text(digits, '0');
    for (std::size_t i = digits; i-- > 0; value >>= 4) {
        text[i] = "0123456789abcdef"[value & 15];
    }
    return text;
}

/// The same for all workers of one run. Each run has a different one, because it may meet keys of
/// earlier runs.
const std::string& run_mark()
{
    static const std::string mark = hex(std::random_device{}(), 8);
    return mark;
}

std::string format(std::initializer_list<std::string_view> arguments)
{
    std::string command = "*" + std::to_string(arguments.size()) + "\r\n";
    for (const auto a : arguments) {
        command.append("$")
            .append(std::to_string(a.size()))
            .append("\r\n")
            .append(a)
            .append("\r\n");
    }
    return command;
}

/// An argument in the inline form of a command.
std::string quoted(std::string_view text)
{
    std::string inside;
    for (const char c : text) {
        if (c == '"') {
            inside += '\\';
        }
        inside += c;
    }
    return '"' + inside + '"';
}

}  // namespace

floor_run::floor_run(int argc, char** argv, std::string name)
    : name_(std::move(name)),
      options_(read_floor_options(argc, argv, name_)),
      urls_(options_.nodes)
{
    if (urls_.empty()) {
        urls_ = servers_.emplace(options_.local).urls();
    }
    meter_.emplace(cpu_of_servers(servers_, options_.server_pids));
}

std::vector<stream_socket> floor_run::connect_all(boost::asio::io_context& io)
{
    std::vector<stream_socket> sockets;
    result_.versions = build_versions();
    for (const auto& url : urls_) {
        auto& socket = sockets.emplace_back(connect(io, url));
        if (ask(socket, "SCRIPT LOAD " + quoted(release_script)) != commands::release_digest) {
            throw std::runtime_error(url + " does not take the release script");
        }
        result_.versions["server"] = server_version(ask(socket, "INFO server"));
    }
    return sockets;
}

void floor_run::start()
{
    phase_end_ = clock::now() + duration(options_.warm_up);
}

bool floor_run::next_cycle(clock::time_point now)
{
    ++result_.cycles;
    if (now < phase_end_) [[likely]] {
        return true;
    }
    switch (phase_) {
        case phase::warming_up: end_of_warm_up(); return true;
        case phase::measuring: end(); return false;
        case phase::over: return false;
    }
    return false;
}

void floor_run::end_of_warm_up()
{
    phase_ = phase::measuring;
    acquires_.reset();
    result_.cycles = 0;
    result_.failures = 0;
    meter_->begin();
    phase_end_ = clock::now() + duration(options_.seconds);
}

void floor_run::end()
{
    phase_ = phase::over;
    result_.name = name_;
    result_.nodes = nodes();
    result_.workers = workers();
    result_.resources = workers();
    result_.ttl_ms = commands::ttl_ms;
    meter_->end(result_, acquires_);
}

void floor_run::report() const
{
    if (options_.json) {
        print_json(std::cout, result_);
    } else {
        print_table(std::cout, {&result_, 1});
    }
}

commands::commands(std::size_t worker)
{
    resource_ = "floor:" + run_mark() + ':' + std::to_string(worker);
    const std::string token = run_mark() + hex(worker, 16) + std::string(counter_digits, '0');
    acquire_ = format({"SET", resource_, token, "NX", "PX", std::to_string(ttl_ms)});
    release_ = format({"EVALSHA", release_digest, "1", resource_, token});
    token_size_ = token.size();
    token_in_release_ = release_.find(token);
    acquire_digits_ = acquire_.find(token) + token.size() - counter_digits;
    release_digits_ = token_in_release_ + token.size() - counter_digits;
}

void commands::renew() noexcept
{
    std::uint64_t rest = ++cycle_;
    for (std::size_t i = counter_digits; i-- > 0 && rest != 0; rest >>= 4) {
        const char digit = "0123456789abcdef"[rest & 15];
        acquire_[acquire_digits_ + i] = digit;
        release_[release_digits_ + i] = digit;
    }
}

}  // namespace redlock::bench
