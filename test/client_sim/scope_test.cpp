#include "client_sim/timed_clients.hpp"
#include "scope/watch.hpp"

#include <redlock/scope.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>

using namespace redlock;
using namespace redlock::test;

TEST_CASE("a scope that cannot hear of a loss says why it cancelled its body",
          "[client_sim][with_lock]")
{
    const error_code no_memory = make_error_code(boost::system::errc::not_enough_memory);
    timed_clients s;
    const lock held = s.take("r", {});
    const auto watch =
        std::make_shared<scope::watch>(scope::executors{s.io.get_executor(), s.io.get_executor()});
    asio::cancellation_type stopped{};
    watch->body_slot().assign([&](asio::cancellation_type type) { stopped = type; });
    const scope::body_run run(watch, held);
    CHECK(run.may_begin());
    watch->on_end(no_memory);
    CHECK(stopped == asio::cancellation_type::terminal);
    with_lock_result<void> r;
    SECTION("the body obeyed")
    {
        r.failure = std::make_exception_ptr(std::runtime_error("of the body"));
        scope::judge(r, *watch, true);
        CHECK(r.status == with_lock_status::cancelled);
        CHECK(r.error == no_memory);
    }
    SECTION("the body had already completed")
    {
        r.status = with_lock_status::completed;
        scope::judge(r, *watch, true);
        CHECK(r.status == with_lock_status::completed);
        CHECK_FALSE(r.error);
    }
    SECTION("the lock is lost")
    {
        scope::judge(r, *watch, false);
        CHECK(r.status == with_lock_status::lost);
        CHECK(r.error == errc::lost);
    }
}

TEST_CASE("a body that is cancelled before its first step does not begin",
          "[client_sim][with_lock]")
{
    timed_clients s;
    const lock held = s.take("r", {});
    const bool is_elsewhere = GENERATE(false, true);
    const auto watch = std::make_shared<scope::watch>(scope::executors{
        s.io.get_executor(), is_elsewhere ? s.elsewhere.get_executor() : s.io.get_executor()});
    bool is_told = false;
    watch->body_slot().assign([&](asio::cancellation_type) { is_told = true; });
    watch->call_off(asio::error::operation_aborted);
    CHECK_FALSE(s.run_for(std::chrono::seconds{1}, [] { return false; }));
    REQUIRE(held.owns());
    CHECK_FALSE(scope::body_run(watch, held).may_begin());
    CHECK_FALSE(is_told);  // co_spawn would throw
}
