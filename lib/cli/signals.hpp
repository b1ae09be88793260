#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <csignal>
#include <functional>
#include <initializer_list>
#include <memory>

#include <sys/signalfd.h>

namespace redlock::cli {

/**
 * Signals as events, with who sent them. They are blocked in the calling thread, and in those it
 * starts, from the constructor on; a program that is begun gets the mask of before.
 */
class signals {
public:
    using handler = std::function<void(const signalfd_siginfo& what)>;

    /// @throws boost::system::system_error when the system gives no descriptor.
    signals(const boost::asio::any_io_executor& ex, std::initializer_list<int> numbers);
    ~signals();
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;

    /// Calls `f` for each signal from now on, instead of what was called before.
    void handle(handler f);
    /// Calls nothing any more.
    void stop();

    /// The mask that stood before.
    [[nodiscard]] const sigset_t& mask_before() const noexcept { return before_; }

private:
    struct state;

    static void read(const std::shared_ptr<state>& s);

    sigset_t before_{};
    /// Outlives this for as long as a read is on its way to its handler.
    std::shared_ptr<state> state_;
};

}  // namespace redlock::cli
