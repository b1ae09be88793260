#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <csignal>
#include <functional>
#include <initializer_list>
#include <memory>

#include <sys/signalfd.h>

namespace redlock::cli {

/**
 * Keeps signals from the calling thread, and from those it starts: to be made before the first of
 * them. Those that this process was told to ignore, as by nohup, stay out of it.
 */
class blocked_signals {
public:
    explicit blocked_signals(std::initializer_list<int> numbers);
    ~blocked_signals();
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;

    [[nodiscard]] const sigset_t& mask() const noexcept { return mask_; }
    /// The mask of before.
    [[nodiscard]] const sigset_t& before() const noexcept { return before_; }

private:
    sigset_t mask_{};
    sigset_t before_{};
};

/// Whether this process was told to ignore a signal.
[[nodiscard]] bool is_ignored(int number) noexcept;

/// Stops this process as a Ctrl-Z stops any: not where no shell is there to let it go on.
void stop_for_terminal() noexcept;

/// Blocked signals as events, with who sent them.
class signals {
public:
    using handler = std::function<void(const signalfd_siginfo& what)>;

    /// @throws boost::system::system_error when the system gives no descriptor.
    signals(const boost::asio::any_io_executor& ex, const blocked_signals& which);
    ~signals();
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;

    /// Calls `f` for each signal from now on, instead of what was called before.
    void handle(handler f);
    /// Calls nothing any more.
    void stop();

private:
    struct state;

    static void read(const std::shared_ptr<state>& s);

    /// Outlives this for as long as a read is on its way to its handler.
    std::shared_ptr<state> state_;
};

}  // namespace redlock::cli
