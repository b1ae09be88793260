#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>

#include <sys/types.h>

namespace redlock::bench {

/**
 * The last actions when SIGINT or SIGTERM ends the process: kill these processes, remove these
 * files and then this folder. Installs handlers for both signals unless they are ignored. Removes
 * the handlers again unless the program replaced them meanwhile.
 */
class last_orders {
public:
    static constexpr std::size_t max_processes = 64;

    /// The strings may not change afterwards, because a signal handler reads them. Throws
    /// `std::logic_error` if there is one already.
    last_orders(std::array<std::string, 2 * max_processes> files, std::string folder);
    ~last_orders();

    last_orders(const last_orders&) = delete;
    last_orders& operator=(const last_orders&) = delete;

    /// The process to kill in place `i`, or 0 for none.
    void set(std::size_t i, pid_t pid) noexcept { pids_[i] = pid; }

private:
    static constexpr std::array signals{SIGINT, SIGTERM};

    static void carry_out(int signal);

    std::array<std::atomic<pid_t>, max_processes> pids_{};
    const std::array<std::string, 2 * max_processes> files_;
    const std::string folder_;
    std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace redlock::bench
