#include "common/floor_run.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string_view>

namespace redlock::bench {
namespace {

constexpr std::uint64_t ttl_ms = 10'000;
constexpr std::size_t counter_digits = 16;

// Byte for byte the script of the other Redlock clients, and its digest.
constexpr std::string_view release_script = R"(if redis.call("get",KEYS[1]) == ARGV[1] then )"
                                            R"(return redis.call("del",KEYS[1]) else return 0 end)";
constexpr std::string_view release_digest = "b70c2384248f88e6b75b9f89241a180f856ad852";

std::string hex(std::uint64_t value, std::size_t digits)
{
    std::string text(digits, '0');
    for (std::size_t i = digits; i-- > 0; value >>= 4)
        text[i] = "0123456789abcdef"[value & 15];
    return text;
}

/// The same for all workers of one run; another one for the next run, whose keys may meet those
/// left by this one.
const std::string& run_mark()
{
    static const std::string mark = hex(std::random_device{}(), 8);
    return mark;
}

std::string format(std::initializer_list<std::string_view> arguments)
{
    std::string command = "*" + std::to_string(arguments.size()) + "\r\n";
    for (const auto a : arguments)
        command.append("$")
            .append(std::to_string(a.size()))
            .append("\r\n")
            .append(a)
            .append("\r\n");
    return command;
}

/// An argument in the inline form of a command.
std::string quoted(std::string_view text)
{
    std::string inside;
    for (const char c : text) {
        if (c == '"')
            inside += '\\';
        inside += c;
    }
    return '"' + inside + '"';
}

}  // namespace

floor_run::floor_run(int argc, char** argv, std::string name) : name_(std::move(name))
{
    CLI::App app(name_ +
                 ": the least a client must do to take and give back quorum locks, measured");
    server_options local;
    double seconds = 5;
    double warm_up = 1;
    auto* nodes =
        app.add_option("--nodes", urls_, "URLs of masters: redis://host:port or unix:///path");
    auto* own =
        app.add_option("--local", local.count, "Start so many masters here")->capture_default_str();
    app.add_option("--server", local.program, "The program to start for --local")
        ->capture_default_str();
    app.add_flag("--unix", local.unix_sockets, "Unix sockets for --local");
    app.add_option("--workers", workers_, "Cycles in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--seconds", seconds, "To measure")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 86'400.0));
    app.add_option("--warmup", warm_up, "Seconds before that")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    app.add_flag("--json", json_, "JSON instead of a table");
    nodes->excludes(own);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        std::exit(app.exit(e));
    }
    const auto duration = [](double s) {
        return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(s));
    };
    measured_ = duration(seconds);
    warm_up_ = duration(warm_up);
    if (urls_.empty())
        urls_ = servers_.emplace(std::move(local)).urls();
    meter_.emplace(servers_ ? &*servers_ : nullptr);
}

std::vector<stream_socket> floor_run::connect_all(boost::asio::io_context& io)
{
    std::vector<stream_socket> sockets;
    result_.versions = build_versions();
    for (const auto& url : urls_) {
        auto& socket = sockets.emplace_back(connect(io, url));
        if (ask(socket, "SCRIPT LOAD " + quoted(release_script)) != release_digest)
            throw std::runtime_error(url + " does not take the release script");
        result_.versions["server"] = server_version(ask(socket, "INFO server"));
    }
    return sockets;
}

void floor_run::start()
{
    phase_end_ = clock::now() + warm_up_;
}

bool floor_run::next_cycle(clock::time_point now)
{
    ++result_.cycles;
    if (now < phase_end_) [[likely]]
        return true;
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
    phase_end_ = clock::now() + measured_;
}

void floor_run::end()
{
    phase_ = phase::over;
    result_.name = name_;
    result_.nodes = nodes();
    result_.workers = workers_;
    result_.resources = workers_;
    result_.ttl_ms = ttl_ms;
    meter_->end(result_, acquires_);
}

void floor_run::report() const
{
    if (json_)
        std::cout << nlohmann::json(result_).dump(2) << '\n';
    else
        print_table(std::cout, {&result_, 1});
}

commands::commands(std::size_t worker)
{
    const std::string key = "floor:" + run_mark() + ':' + std::to_string(worker);
    const std::string token = run_mark() + hex(worker, 16) + std::string(counter_digits, '0');
    acquire_ = format({"SET", key, token, "NX", "PX", std::to_string(ttl_ms)});
    release_ = format({"EVALSHA", release_digest, "1", key, token});
    acquire_digits_ = acquire_.find(token) + token.size() - counter_digits;
    release_digits_ = release_.find(token) + token.size() - counter_digits;
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
