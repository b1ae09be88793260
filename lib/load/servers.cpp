#include "load/servers.hpp"

#include "load/bound_to_parent.hpp"
#include "load/endpoint.hpp"
#include "load/last_orders.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/process/v2/environment.hpp>
#if __has_include(<boost/process/v2/src.hpp>)
#include <boost/process/v2/src.hpp>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;
namespace process = boost::process::v2;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto start_patience = 60s;
constexpr auto reply_patience = 10s;
constexpr auto look_again = 2ms;

struct file_closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_ptr = std::unique_ptr<std::FILE, file_closer>;

/// A new folder that is deleted with this object.
class temporary_folder {
public:
    temporary_folder()
    {
        std::string name = (fs::temp_directory_path() / "redlock-servers-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), name);
        }
        path_ = name;
    }

    ~temporary_folder()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] const fs::path& path() const noexcept { return path_; }

private:
    fs::path path_;
};

fs::path find_program(const std::string& name)
{
    if (name.find('/') != name.npos) {
        return name;
    }
    const std::string found = process::environment::find_executable(name).string();
    if (found.empty()) {
        throw std::runtime_error("no " + name + " in PATH; --server names another program");
    }
    return found;
}

/**
 * A loopback port that is free now. It lies below the ports that tests reserve (test/support/port).
 * If possible it also lies below the ports that the system takes for outgoing connections. A client
 * that dials a dead port of that range again and again ends up connected to itself.
 */
unsigned short free_port(asio::io_context& io)
{
    std::random_device entropy;
    std::uniform_int_distribution<unsigned short> below(10'000, 11'999);
    for (int attempt = 0;; ++attempt) {
        const auto port = attempt < 100 ? below(entropy) : static_cast<unsigned short>(0);
        const asio::ip::tcp::endpoint wanted(asio::ip::address_v4::loopback(), port);
        boost::system::error_code taken;
        asio::ip::tcp::acceptor probe(io, wanted.protocol());
        if (!probe.bind(wanted, taken)) {
            return probe.local_endpoint().port();
        }
    }
}

std::string content(const fs::path& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// User and system time of a process, or 0 if there is none.
double cpu_of(pid_t pid)
{
    const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
    const auto name_end = stat.rfind(')');
    if (name_end == stat.npos) {
        return 0;
    }
    // The third field and further ones follow the name. The 14th and 15th are the times.
    std::istringstream fields(stat.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) {
        fields >> skipped;
    }
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

class local_servers::group {
public:
    explicit group(server_options options);
    ~group();

    void launch(std::size_t i);
    void choose_address(std::size_t i);
    /// Launches again while the address is taken, at another address if it `may_move`.
    void await(std::size_t i, bool may_move);
    void kill(std::size_t i);
    void send(std::size_t i, int signal) const;

    [[nodiscard]] pid_t pid(std::size_t i) const;
    [[nodiscard]] double cpu_seconds(std::size_t i) const;

    std::vector<std::string> urls;
    std::string version;

private:
    struct server {
        process::process child;
        fs::path socket;
        fs::path log;
        unsigned short port = 0;  ///< with unix sockets 0, for no TCP
        double earlier_cpu = 0;   ///< of its lives before this one
    };

    [[nodiscard]] std::vector<std::string> arguments(const server& s) const;
    [[nodiscard]] bool answers(std::size_t i);

    server_options options_;
    fs::path program_;
    asio::io_context io_;
    temporary_folder folder_;
    std::vector<server> servers_;
    std::optional<last_orders> orders_;
};

local_servers::group::group(server_options options)
    : options_(std::move(options)),
      program_(find_program(options_.program))
{
    if (options_.count == 0 || options_.count > last_orders::max_processes) {
        throw std::invalid_argument("local servers: 1 to 64");
    }
    urls.resize(options_.count);
    std::array<std::string, 2 * last_orders::max_processes> files;
    for (std::size_t i = 0; i < options_.count; ++i) {
        const auto name = (folder_.path() / std::to_string(i)).string();
        servers_.push_back({process::process(io_), name + ".sock", name + ".log"});
        files[2 * i] = name + ".sock";
        files[2 * i + 1] = name + ".log";
    }
    orders_.emplace(std::move(files), folder_.path().string());
}

local_servers::group::~group()
{
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        kill(i);
    }
}

std::vector<std::string> local_servers::group::arguments(const server& s) const
{
    std::vector<std::string> all{
        "--save",    "",       "--appendonly",         "no",    "--bind",
        "127.0.0.1", "--port", std::to_string(s.port), "--dir", folder_.path().string(),
    };
    if (options_.unix_sockets) {
        all.insert(all.end(), {"--unixsocket", s.socket.string()});
    }
    all.insert(all.end(), options_.arguments.begin(), options_.arguments.end());
    return all;
}

void local_servers::group::choose_address(std::size_t i)
{
    auto& s = servers_.at(i);
    if (options_.unix_sockets) {
        urls[i] = "unix://" + s.socket.string();
        return;
    }
    s.port = free_port(io_);
    urls[i] = "redis://127.0.0.1:" + std::to_string(s.port);
}

void local_servers::group::launch(std::size_t i)
{
    auto& s = servers_.at(i);
    // Not with the server's own option, because the server reports wrong arguments on stderr.
    const file_ptr log(std::fopen(s.log.c_str(), "we"));
    if (!log) {
        throw std::system_error(errno, std::generic_category(), s.log.string());
    }
    s.child = process::process(io_, program_.c_str(), arguments(s),
                               process::process_stdio{nullptr, log.get(), log.get()},
                               bound_to_parent{.signal = SIGKILL, .in_own_group = true});
    orders_->set(i, s.child.id());
}

// The process that answers must be the process that was started, because another program may have
// taken the port first.
bool local_servers::group::answers(std::size_t i)
{
    try {
        auto socket = connect(io_, urls[i]);
        if (ask(socket, "PING", reply_patience) != "+PONG") {
            return false;
        }
        const auto info = ask(socket, "INFO server", reply_patience);
        if (info_field(info, "process_id") != std::to_string(pid(i))) {
            return false;
        }
        version = server_version(info);
        return true;
    } catch (const boost::system::system_error&) {
        return false;
    }
}

void local_servers::group::await(std::size_t i, bool may_move)
{
    auto& s = servers_.at(i);
    const auto end = std::chrono::steady_clock::now() + start_patience;
    while (!answers(i)) {
        const bool runs = s.child.running();
        const auto words = runs ? std::string() : content(s.log);
        const bool address_taken = words.find("Address already in use") != words.npos;
        if (std::chrono::steady_clock::now() > end || (!runs && !address_taken)) {
            throw std::runtime_error(program_.string() + " does not come up: " + content(s.log));
        }
        if (address_taken) {
            kill(i);
            if (may_move) {
                choose_address(i);
            }
            launch(i);
        }
        std::this_thread::sleep_for(look_again);
    }
}

void local_servers::group::kill(std::size_t i)
{
    auto& s = servers_.at(i);
    if (!s.child.is_open()) {
        return;
    }
    s.earlier_cpu = cpu_seconds(i);
    // This question reaps a process that ended by itself, and another process may get its id.
    boost::system::error_code ignored;
    const bool runs = s.child.running(ignored);
    if (runs) {
        s.child.terminate(ignored);
    }
    orders_->set(i, 0);
    if (runs) {
        s.child.wait(ignored);
    }
    s.child = process::process(io_);
}

void local_servers::group::send(std::size_t i, int signal) const
{
    if (pid(i) > 0 && ::kill(pid(i), signal) != 0) {
        throw std::system_error(errno, std::generic_category(), "kill");
    }
}

pid_t local_servers::group::pid(std::size_t i) const
{
    const auto& child = servers_.at(i).child;
    return child.is_open() ? child.id() : 0;
}

double local_servers::group::cpu_seconds(std::size_t i) const
{
    const auto& s = servers_.at(i);
    return s.earlier_cpu + (s.child.is_open() ? cpu_of(s.child.id()) : 0);
}

local_servers::local_servers(server_options options)
    : group_(std::make_unique<group>(std::move(options)))
{
    for (std::size_t i = 0; i < size(); ++i) {
        group_->choose_address(i);
        group_->launch(i);
    }
    for (std::size_t i = 0; i < size(); ++i) {
        group_->await(i, true);
    }
}

local_servers::~local_servers() = default;

std::size_t local_servers::size() const noexcept
{
    return group_->urls.size();
}

const std::vector<std::string>& local_servers::urls() const noexcept
{
    return group_->urls;
}

pid_t local_servers::pid(std::size_t i) const
{
    return group_->pid(i);
}

const std::string& local_servers::version() const noexcept
{
    return group_->version;
}

void local_servers::kill(std::size_t i)
{
    group_->kill(i);
}

void local_servers::stop(std::size_t i)
{
    group_->send(i, SIGSTOP);
}

void local_servers::cont(std::size_t i)
{
    group_->send(i, SIGCONT);
}

void local_servers::restart(std::size_t i)
{
    group_->kill(i);
    group_->launch(i);
    group_->await(i, false);
}

double local_servers::cpu_seconds(std::size_t i) const
{
    return group_->cpu_seconds(i);
}

double local_servers::cpu_seconds() const
{
    double all = 0;
    for (std::size_t i = 0; i < size(); ++i) {
        all += cpu_seconds(i);
    }
    return all;
}

std::vector<pid_t> local_servers::pids() const
{
    std::vector<pid_t> all;
    all.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) {
        all.push_back(pid(i));
    }
    return all;
}

std::function<double()> cpu_of_servers(const std::optional<local_servers>& local,
                                       std::vector<pid_t> pids)
{
    if (local) {
        return [&local] { return local->cpu_seconds(); };
    }
    if (pids.empty()) {
        return {};
    }
    return [pids = std::move(pids)] {
        return std::transform_reduce(pids.begin(), pids.end(), 0.0, std::plus<>(), cpu_of);
    };
}

}  // namespace redlock::bench
