#include "client_sim/timed_clients.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

TEST_CASE("a handler's executor has work until the handler has returned", "[client_sim]")
{
    timed_clients s;
    std::optional<std::size_t> within;
    const asio::any_io_executor there = s.elsewhere.get_executor();
    s.locks->async_acquire("here", asio::bind_executor(there, [&](error_code ec, lock) {
                               CHECK_FALSE(ec);
                               within = s.elsewhere.outstanding();
                           }));
    CHECK(s.elsewhere.outstanding() == 1);

    // By then the handler is queued, which counts as work by itself.
    REQUIRE(s.run_for(10s, [&] { return s.elsewhere.is_ready(); }));
    CHECK(s.elsewhere.outstanding() == 2);

    s.elsewhere.step();
    CHECK(within == 1U);
    CHECK(s.elsewhere.outstanding() == 0);
}
