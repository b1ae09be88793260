#pragma once

#include "load/figures.hpp"
#include "load/plan.hpp"

#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::bench {

/// The common data of all workers of a run.
struct course {
    course(boost::asio::any_io_executor ex, const config& c, plan p);

    [[nodiscard]] bool is_shared(std::size_t resource) const { return resource >= todo.resources; }
    [[nodiscard]] std::chrono::milliseconds hold_of(std::size_t resource) const
    {
        return is_shared(resource) ? todo.hold_shared : todo.hold;
    }
    /// The resource that a worker takes in one of its cycles.
    [[nodiscard]] std::size_t resource_of(std::size_t worker, std::size_t cycle) const;

    /// Called by a worker that ends.
    void leaves();

    plan todo;
    std::string mark;  ///< the beginning of all names of this run
    client locks;
    std::vector<std::string> names;  ///< of the resources
    scorer score;
    bool stopping = false;
    std::size_t active = 0;
    std::function<void()> on_all_left;
};

/// A worker written with completion handlers.
class callback_worker {
public:
    callback_worker(course& all, std::size_t index);

    /// Begins the next cycle, or ends.
    void take();

private:
    void on_taken(error_code why, lock l);
    void give_back();
    void wait(std::chrono::milliseconds duration, void (callback_worker::*then)());

    course& all_;
    std::size_t index_;
    std::size_t cycle_ = 0;
    std::size_t resource_ = 0;
    bench_clock::time_point began_;
    lock held_;
    boost::asio::steady_timer timer_;
};

/// A worker written as a coroutine.
[[nodiscard]] boost::asio::awaitable<void> work(course& all, std::size_t index);

}  // namespace redlock::bench
