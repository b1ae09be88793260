#pragma once

#include "load/course.hpp"

#include <redlock/stats.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace redlock::bench {

/**
 * A client and the workers that take and release locks through it.
 *
 * Use it only where its context runs, except to make and to destroy it.
 */
class workload {
public:
    workload(boost::asio::io_context& io, config c, plan p);

    /// Connects, and returns when all nodes are there, or a majority after the others did not come
    /// within 2 s. Throws `errc::unavailable` if there is no majority.
    [[nodiscard]] boost::asio::awaitable<void> connect();

    /// Takes the locks that are held during the whole run. Throws `std::runtime_error` if one can't
    /// be acquired.
    [[nodiscard]] boost::asio::awaitable<void> hold();

    /// Lets the workers begin.
    void start();

    /// Lets the workers end their cycles, 2 s at most, closes the client and stops the context.
    void stop();

    /// The figures since the last call.
    [[nodiscard]] figures take() { return all_.score.take(); }

    [[nodiscard]] redlock::stats stats() const { return all_.locks.stats(); }
    [[nodiscard]] std::size_t nodes() const noexcept { return nodes_; }

private:
    void hold_next();
    void close();

    boost::asio::io_context& io_;
    std::size_t nodes_;
    std::string last_warning_;  ///< the client's
    course all_;
    std::deque<callback_worker> workers_;
    std::vector<lock> held_;
    std::size_t holding_ = 0;  ///< taken, or being taken
    error_code not_held_;
    boost::asio::steady_timer patience_;
};

}  // namespace redlock::bench
