#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::bench {

/// The servers to start.
struct server_options {
    std::size_t count = 5;
    /// redis-server or valkey-server: a path, or a name to search PATH for.
    std::string program = "redis-server";
    /// Unix sockets in the temporary folder instead of loopback TCP ports.
    bool unix_sockets = false;
    /// More arguments for each server, such as {"--maxmemory", "10mb"}.
    std::vector<std::string> arguments;
};

/**
 * Independent nodes on this machine, without persistence, in a temporary folder of their own.
 *
 * They end with this object, on SIGINT and SIGTERM, and when the thread that started them ends for
 * any reason. The folder is removed too, except when this process is killed otherwise or aborts. A
 * program that handles SIGINT or SIGTERM itself must install its handler after making this object,
 * and end through the destructor. A signal from the terminal does not reach the servers.
 *
 * One object at a time in a process. Not thread-safe.
 */
class local_servers {
public:
    /// Returns when all servers answer. Throws `std::exception`, with the server's last words, if
    /// one does not come up.
    explicit local_servers(server_options options = {});
    ~local_servers();

    local_servers(const local_servers&) = delete;
    local_servers& operator=(const local_servers&) = delete;

    [[nodiscard]] std::size_t size() const noexcept;
    /// `redis://127.0.0.1:port` or `unix:///path`, in order.
    [[nodiscard]] const std::vector<std::string>& urls() const noexcept;
    /// 0 while the server is killed.
    [[nodiscard]] pid_t pid(std::size_t i) const;
    [[nodiscard]] std::vector<pid_t> pids() const;
    /// Redis' or Valkey's own name and version.
    [[nodiscard]] const std::string& version() const noexcept;

    /// SIGKILL; returns when the server is gone. Does nothing if it is gone already.
    void kill(std::size_t i);
    /// SIGSTOP: the server keeps its connections and answers nothing.
    void stop(std::size_t i);
    /// SIGCONT.
    void cont(std::size_t i);
    /// Starts the server again, empty, at the same address. Returns when it answers. Kills it first
    /// if it runs.
    void restart(std::size_t i);

    /// User and system time of one server, over all its restarts.
    [[nodiscard]] double cpu_seconds(std::size_t i) const;
    /// The sum for all servers.
    [[nodiscard]] double cpu_seconds() const;

private:
    class group;
    std::unique_ptr<group> group_;
};

/// Returns a function for the processor time of these servers, in seconds: of the local servers if
/// there are any, else of the named processes. Empty if there are neither. The function refers to
/// `local`.
[[nodiscard]] std::function<double()> cpu_of_servers(const std::optional<local_servers>& local,
                                                     std::vector<pid_t> pids);

}  // namespace redlock::bench
