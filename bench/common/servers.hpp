#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace redlock::bench {

/// What to start.
struct server_options {
    std::size_t count = 5;
    /// redis-server or valkey-server: a path, or a name to look for in PATH.
    std::string program = "redis-server";
    /// Unix sockets in the temporary folder instead of loopback TCP ports.
    bool unix_sockets = false;
    /// More arguments for each server, such as {"--maxmemory", "10mb"}.
    std::vector<std::string> arguments;
};

/**
 * Independent masters on this machine, without persistence, in a temporary folder of their own.
 *
 * They end with this object, on SIGINT and SIGTERM, and when the thread that started them ends,
 * however it ends. The folder goes too, except when this process is killed otherwise or aborts. A
 * program that wants to handle SIGINT or SIGTERM itself does so after making this object, and then
 * leaves through the destructor. A signal from the terminal does not reach the servers.
 *
 * One object at a time in a process. Not thread-safe.
 */
class local_servers {
public:
    /// Returns when all of them answer. Throws `std::exception`, with the server's last words, if
    /// one does not come up.
    explicit local_servers(server_options options = {});
    ~local_servers();

    local_servers(const local_servers&) = delete;
    local_servers& operator=(const local_servers&) = delete;

    [[nodiscard]] std::size_t size() const noexcept;
    /// `redis://127.0.0.1:port` or `unix:///path`, in order.
    [[nodiscard]] const std::vector<std::string>& urls() const noexcept;
    /// 0 while it is killed.
    [[nodiscard]] pid_t pid(std::size_t i) const;
    [[nodiscard]] std::vector<pid_t> pids() const;
    /// Redis' or Valkey's own name and version.
    [[nodiscard]] const std::string& version() const noexcept;

    /// SIGKILL; returns when it is gone. Nothing if it is already.
    void kill(std::size_t i);
    /// SIGSTOP: keeps its connections and answers nothing.
    void stop(std::size_t i);
    /// SIGCONT.
    void cont(std::size_t i);
    /// Starts it again, empty, at the same address; returns when it answers. Kills it first if it
    /// runs.
    void restart(std::size_t i);

    /// User and system time of one server, over all its restarts.
    [[nodiscard]] double cpu_seconds(std::size_t i) const;
    /// Of all servers.
    [[nodiscard]] double cpu_seconds() const;

private:
    class group;
    std::unique_ptr<group> group_;
};

/// What tells the processor time of these servers, in seconds: of the local ones, if there are any,
/// else of the processes named; empty if there are neither. Refers to `local`.
[[nodiscard]] std::function<double()> cpu_of_servers(const std::optional<local_servers>& local,
                                                     std::vector<pid_t> pids);

}  // namespace redlock::bench
