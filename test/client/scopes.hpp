#pragma once

#include "client/operations.hpp"

#include <redlock/with_lock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace redlock::test {

/// Options of a lock that is renewed or lost soon. Its keys may expire while a test waits for the
/// renewal or the loss.
inline acquire_options brief()
{
    acquire_options o = long_lease();
    o.ttl = brief_ttl;
    return o;
}

inline asio::awaitable<void> sleep(std::chrono::milliseconds span)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::use_awaitable);
}

/// Five renewals take a client more than one ttl.
inline constexpr std::size_t more_than_a_ttl = 5;

/// Waits until the client has renewed locks for longer than their ttl. Call it where the scene
/// runs.
inline asio::awaitable<void> outlast_ttl(const scene& s)
{
    const auto begun = s.locks->stats().renewed;
    while (s.locks->stats().renewed < begun + more_than_a_ttl) {
        co_await sleep(10ms);
    }
}

inline void delete_keys(const std::string& name)
{
    for (std::size_t i = 0; i < nodes().size(); ++i) {
        (void)nodes()[i].command({"DEL", name});
    }
}

/// A with_lock whose end the test awaits.
template <class T>
struct running_scope {
    template <class Body>
    running_scope(scene& in, Body body, acquire_options o = long_lease()) : s(in)
    {
        with_lock(*s.locks, s.name, o, std::move(body),
                  asio::bind_cancellation_slot(signal.slot(),
                                               once(handlers, [this](with_lock_result<T> r) {
                                                   ended.emplace(std::move(r));
                                               })));
    }

    with_lock_result<T>& end()
    {
        REQUIRE(run_until(s.io, [&] { return ended.has_value(); }));
        CHECK(handlers.called_again == 0);
        return *ended;
    }

    scene& s;
    ledger handlers;
    asio::cancellation_signal signal;
    std::optional<with_lock_result<T>> ended;
};

}  // namespace redlock::test
