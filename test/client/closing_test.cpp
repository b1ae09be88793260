#include "client/operations.hpp"

#include <redlock/testing/scripted_node.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <optional>
#include <string>

using namespace redlock;
using namespace redlock::test;
using redlock::testing::scripted_node;

namespace {

/// Only the close has a bound that a test can reach.
config for_node(const scripted_node& node, std::chrono::milliseconds close_timeout)
{
    config c = either_kind();
    c.nodes = {node.url()};
    c.node_timeout = never / 4;
    c.stall_timeout = never;
    c.close_timeout = close_timeout;
    return c;
}

/// A client with a release under way that no node will answer.
struct held_up {
    explicit held_up(std::chrono::milliseconds close_timeout) : s(for_node(node, close_timeout))
    {
        s.locks->async_run(asio::bind_cancellation_slot(run_signal.slot(), run.receiver()));
        REQUIRE(run_until(s.io, [&] { return s.locks->stats().nodes_ready == 1; }));
        s.held = s.take(s.name);
        node.freeze();
        releasing::begin(s, release.receiver());
        REQUIRE(run_until(s.io, [&] { return node.count("release", s.name) == 1; }));
    }

    scripted_node node;
    asio::cancellation_signal run_signal;
    outcome<running> run;
    outcome<releasing> release;
    scene s;
};

}  // namespace

TEST_CASE("a closing client waits for an unanswered release but not forever", "[closing]")
{
    constexpr auto bound = 300ms;
    held_up w(bound);
    const auto began = std::chrono::steady_clock::now();
    outcome<closing> close;
    closing::begin(w.s, close.receiver());
    REQUIRE(run_until(w.s.io, [&] { return close.done; }));
    CHECK(std::chrono::steady_clock::now() - began >= bound);
    CHECK_FALSE(close.error);
    CHECK(run_out(w.s.io));
    CHECK(w.release.error == errc::closed);
    CHECK((w.run.done && !w.run.error));
    CHECK(w.s.locks->stats().nodes_ready == 0);
    // A frozen node does not see that its clients have gone.
    w.node.thaw();
    CHECK(wait_for([&] { return w.node.connections() == 0; }));
}

TEST_CASE("a close with a timeout of zero waits for nothing", "[closing]")
{
    held_up w(0ms);
    outcome<closing> close;
    closing::begin(w.s, close.receiver());
    // Runs all ready handlers, and none that waits for a timer.
    w.s.io.poll();
    CHECK((close.done && !close.error));
    CHECK(w.release.error == errc::closed);
    CHECK((w.run.done && !w.run.error));
    CHECK(run_out(w.s.io));
}

TEST_CASE("a close that is cancelled closes the client at once", "[closing]")
{
    const auto type = GENERATE(cancellation_type::terminal, cancellation_type::partial);
    held_up w(never);
    asio::cancellation_signal signal;
    outcome<closing> cancelled;
    outcome<closing> other;
    closing::begin(w.s, asio::bind_cancellation_slot(signal.slot(), cancelled.receiver()));
    closing::begin(w.s, other.receiver());
    w.s.io.poll();
    CHECK_FALSE((cancelled.done || other.done || w.run.done));
    signal.emit(type);
    CHECK(run_out(w.s.io));
    CHECK(cancelled.error == asio::error::operation_aborted);
    // The other callers wanted the client closed, and it is closed.
    CHECK((other.done && !other.error));
    CHECK((w.run.done && !w.run.error));
    CHECK(w.release.error == errc::closed);
}

TEST_CASE("a cancelled run ends a close without an error", "[closing]")
{
    const auto type = GENERATE(cancellation_type::terminal, cancellation_type::partial);
    held_up w(never);
    outcome<closing> close;
    closing::begin(w.s, close.receiver());
    w.s.io.poll();
    CHECK_FALSE((close.done || w.run.done));
    w.run_signal.emit(type);
    CHECK(run_out(w.s.io));
    CHECK(w.run.error == asio::error::operation_aborted);
    CHECK((close.done && !close.error));
    CHECK(w.release.error == errc::closed);
}

TEST_CASE("total does not cancel a close", "[closing]")
{
    held_up w(never);
    asio::cancellation_signal signal;
    outcome<closing> close;
    closing::begin(w.s, asio::bind_cancellation_slot(signal.slot(), close.receiver()));
    w.s.io.poll();
    signal.emit(cancellation_type::total);
    w.s.io.poll();
    CHECK_FALSE(close.done);
    w.run_signal.emit(cancellation_type::terminal);
    CHECK(run_out(w.s.io));
    CHECK((close.done && !close.error));
}
