#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <csignal>
#include <functional>
#include <initializer_list>
#include <memory>

#include <sys/signalfd.h>

namespace redlock::cli {

/**
 * Blocks signals in the calling thread and in the threads that it starts later. So create it before
 * the first other thread. Signals that this process already ignores, for example under nohup, stay
 * ignored.
 */
class blocked_signals {
public:
    explicit blocked_signals(std::initializer_list<int> numbers);
    ~blocked_signals();
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;

    [[nodiscard]] const sigset_t& mask() const noexcept { return mask_; }
    /// The signal mask before.
    [[nodiscard]] const sigset_t& before() const noexcept { return before_; }

private:
    sigset_t mask_{};
    sigset_t before_{};
};

/// Whether this process ignores a signal.
[[nodiscard]] bool is_ignored(int number) noexcept;

/// Stops this process as Ctrl-Z does. Does nothing if no shell could continue it.
void stop_for_terminal() noexcept;

/// Delivers blocked signals as events, with their senders.
class signals {
public:
    using handler = std::function<void(const signalfd_siginfo& what)>;

    /// Starts to receive the signals.
    /// @throws boost::system::system_error if the system has no descriptor left.
    signals(const boost::asio::any_io_executor& ex, const blocked_signals& which);
    ~signals();
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;

    /// Calls `f` for each signal from now on, in place of the previous handler.
    void handle(handler f);
    /// Stops calling handlers.
    void stop();

private:
    struct state;

    static void read(const std::shared_ptr<state>& s);

    /// Outlives this object until a pending read has reached its handler.
    std::shared_ptr<state> state_;
};

}  // namespace redlock::cli
