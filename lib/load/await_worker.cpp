#include "load/course.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace redlock::bench {

namespace asio = boost::asio;

asio::awaitable<void> work(course& all, std::size_t index)
{
    constexpr auto token = asio::as_tuple(asio::use_awaitable);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (std::size_t cycle = 0; !all.stopping; ++cycle) {
        const std::size_t resource = all.resource_of(index, cycle);
        auto began = bench_clock::now();
        auto [refused, held] =
            co_await all.locks.async_acquire(all.names[resource], all.todo.acquire, token);
        if (refused) {
            all.score.not_acquired(refused, began);
            timer.expires_after(all.todo.pause);
            co_await timer.async_wait(token);
            continue;
        }
        all.score.acquired(resource, held, began);
        if (const auto hold = all.hold_of(resource); hold.count() != 0) {
            timer.expires_after(hold);
            co_await timer.async_wait(token);
        }
        all.score.gives_back(resource);
        began = bench_clock::now();
        const auto [why, found] = co_await all.locks.async_release(std::move(held), token);
        all.score.released(index, why, found, began);
    }
    all.leaves();
}

}  // namespace redlock::bench
