#include "support/server.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace redlock::test {
namespace {

/// The path of a program in PATH, or empty.
std::filesystem::path find_program(std::string_view name)
{
    const char* search = std::getenv("PATH");
    std::string_view rest = search != nullptr ? search : "/usr/local/bin:/usr/bin:/bin";
    while (!rest.empty()) {
        const auto folder = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        const auto candidate = std::filesystem::path(folder) / name;
        std::error_code ignored;
        if (!folder.empty() && std::filesystem::is_regular_file(candidate, ignored)) {
            return candidate;
        }
    }
    return {};
}

std::filesystem::path need_program(std::string_view name)
{
    auto found = find_program(name);
    if (found.empty()) {
        throw std::runtime_error(std::string(name) + " is not installed");
    }
    return found;
}

std::string percent_encoded(std::string_view text)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80 &&
            (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~')) {
            result += c;
        } else {
            result += {'%', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return result;
}

std::string userinfo(std::string_view user, std::string_view password)
{
    if (user.empty() && password.empty()) {
        return {};
    }
    const auto name = percent_encoded(user);
    return password.empty() ? name + "@" : name + ":" + percent_encoded(password) + "@";
}

std::string network_url(std::string_view scheme, std::string_view user, std::string_view host,
                        std::uint16_t port, unsigned db)
{
    std::string result(scheme);
    const bool is_ipv6 = host.find(':') != host.npos;
    result.append("://").append(user).append(is_ipv6 ? "[" : "").append(host);
    result.append(is_ipv6 ? "]:" : ":").append(std::to_string(port));
    return db == 0 ? result : result + "/" + std::to_string(db);
}

}  // namespace

const char* program_of(flavour kind)
{
    switch (kind) {
        case flavour::redis: return "redis-server";
        case flavour::valkey: return "valkey-server";
        case flavour::valkey9: return "valkey-server-9";
    }
    return "";
}

bool is_installed(flavour kind)
{
    return !find_program(program_of(kind)).empty();
}

std::vector<flavour> kinds()
{
    std::vector<flavour> all{flavour::redis, flavour::valkey};
    if (is_installed(flavour::valkey9)) {
        all.push_back(flavour::valkey9);
    }
    return all;
}

server::server(server_options options)
    : server(std::move(options), not_started{.keeps_ports = false})
{
    start();
}

server::server(server_options options, not_started how)
    : options_(std::move(options)),
      keeps_ports_(how.keeps_ports)
{}

server::~server() = default;

void server::start(memory files, readiness until)
{
    launch(files);
    await(until);
}

void server::launch(memory files)
{
    if (running()) {
        throw std::logic_error("the server runs already");
    }
    if (files == memory::lost) {
        std::filesystem::remove_all(data());
    }
    std::filesystem::create_directories(data());
    stopped_ = false;
    earlier_log_ = log().size();
    process_ =
        std::make_unique<process>(need_program(program_of(options_.kind)), command_line(),
                                  process_options{folder_ / "log", data(), options_.environment});
}

void server::await(readiness until)
{
    const bool ready = wait_for([&] {
        if (!running() && !take_other_ports()) {
            throw std::runtime_error("the server ended instead of starting:\n" + log());
        }
        try {
            const auto answer = resp_client(socket()).ask({"PING"});
            return until == readiness::answering || !answer.text.starts_with("LOADING");
        } catch (const std::exception&) {
            return false;  // it does not listen yet
        }
    });
    if (!ready) {
        throw std::runtime_error("the server does not answer:\n" + log());
    }
    keeps_ports_ = true;
}

/// `reserved_port` keeps other tests away from a port, but not other programs. True: the server
/// starts again.
bool server::take_other_ports()
{
    if (keeps_ports_ || log_of_this_life().find("Address already in use") == std::string::npos) {
        return false;
    }
    port_.emplace();
    tls_port_.emplace();
    launch();
    return true;
}

void server::restart(memory files, readiness until)
{
    kill();
    start(files, until);
}

void server::kill()
{
    if (process_) {
        process_->kill();
    }
}

void server::terminate()
{
    if (process_) {
        process_->terminate();
    }
}

void server::stop()
{
    process_->stop();
    stopped_ = true;
}

void server::cont()
{
    process_->cont();
    stopped_ = false;
}

bool server::running()
{
    return process_ && process_->running();
}

bool server::responsive()
{
    return running() && !stopped_;
}

pid_t server::pid() const
{
    return process_->pid();
}

std::uint16_t server::port() const noexcept
{
    return options_.tcp ? port_->number() : std::uint16_t{0};
}

std::uint16_t server::tls_port() const noexcept
{
    return options_.tls ? tls_port_->number() : std::uint16_t{0};
}

std::string server::log() const
{
    std::ifstream file(folder_ / "log", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string server::log_of_this_life() const
{
    return log().substr(earlier_log_);
}

std::string server::url(std::string_view user, std::string_view password, unsigned db) const
{
    return options_.tcp
               ? network_url("redis", userinfo(user, password), options_.address, port(), db)
               : unix_url(user, password, db);
}

std::string server::unix_url(std::string_view user, std::string_view password, unsigned db) const
{
    const auto result = "unix://" + userinfo(user, password) + socket().native();
    return db == 0 ? result : result + "?db=" + std::to_string(db);
}

std::string server::tls_url(std::string_view host, std::string_view user, std::string_view password,
                            unsigned db) const
{
    return network_url("rediss", userinfo(user, password), host.empty() ? options_.address : host,
                       tls_port(), db);
}

std::unique_ptr<resp_client> server::connect() const
{
    auto connection = std::make_unique<resp_client>(socket());
    if (!options_.password.empty()) {
        if (const auto answer = connection->ask({"AUTH", options_.password}); answer.is_error()) {
            throw std::runtime_error("the server refuses its own test's password");
        }
    }
    return connection;
}

reply server::ask(const std::vector<std::string>& arguments) const
{
    return connect()->ask(arguments);
}

std::string server::command(const std::vector<std::string>& arguments) const
{
    return ask(arguments).str();
}

bool server::exists(const std::string& key) const
{
    return ask({"EXISTS", key}).integer == 1;
}

std::optional<std::string> server::get(const std::string& key) const
{
    auto answer = ask({"GET", key});
    if (answer.is_error()) {
        throw std::runtime_error("GET: " + answer.text);
    }
    return answer.type == reply::kind::null ? std::nullopt : std::optional(std::move(answer.text));
}

std::chrono::milliseconds server::pttl(const std::string& key) const
{
    const auto answer = ask({"PTTL", key});
    if (answer.is_error()) {
        throw std::runtime_error("PTTL: " + answer.text);
    }
    return std::chrono::milliseconds(answer.integer);
}

void server::flush() const
{
    if (const auto answer = ask({"FLUSHALL"}); answer.is_error()) {
        throw std::runtime_error("FLUSHALL: " + answer.text);
    }
}

std::vector<std::string> server::command_line() const
{
    std::vector<std::string> line{
        "--bind",
        options_.address,
        "--port",
        std::to_string(port()),
        "--unixsocket",
        socket().native(),
        "--dir",
        data().native(),
        "--daemonize",
        "no",
        "--save",
        options_.files == persistence::snapshot ? "3600 1" : "",
        "--appendonly",
        options_.files == persistence::append_only ? "yes" : "no",
        "--appendfsync",
        "always",
        "--databases",
        "16",
        "--enable-debug-command",
        "local",
    };
    if (!options_.configuration.empty()) {
        line.insert(line.begin(), options_.configuration.native());
    }
    if (!options_.password.empty()) {
        line.insert(line.end(), {"--requirepass", options_.password});
    }
    if (const auto& tls = options_.tls) {
        line.insert(line.end(), {"--tls-port", std::to_string(tls_port()), "--tls-ca-cert-file",
                                 tls->ca.native(), "--tls-cert-file", tls->certificate.native(),
                                 "--tls-key-file", tls->key.native(), "--tls-auth-clients",
                                 tls->clients_need_certificate ? "yes" : "no"});
    }
    line.insert(line.end(), options_.arguments.begin(), options_.arguments.end());
    return line;
}

}  // namespace redlock::test
