#pragma once

#include "client/fixture.hpp"

#include <redlock/client.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::test {

inline constexpr unsigned thread_count = 4;

inline config safe()
{
    config c = shared_config();
    c.thread_safe = true;
    return c;
}

/// Runs `body(i)` in each of several threads at the same time.
template <class Body>
void in_threads(Body body)
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < thread_count; ++i) {
        threads.emplace_back([&body, i] { body(i); });
    }
    for (std::thread& t : threads) {
        t.join();
    }
}

/// A thread-safe client on a context that several threads run.
class shared_client {
public:
    explicit shared_client(const config& how = safe())
        : locks(std::in_place, pool.get_executor(), how)
    {
        run_ended = locks->async_run(asio::use_future);
    }

    ~shared_client() { pool.join(); }

    void close()
    {
        locks->async_close(asio::use_future).get();
        run_ended.get();
    }

    asio::thread_pool pool{thread_count};
    std::optional<client> locks;
    std::future<void> run_ended;
};

}  // namespace redlock::test
