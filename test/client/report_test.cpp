#include "client/operations.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <tuple>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A report as an earlier operation left it.
report used()
{
    report told;
    told.nodes.resize(2);
    told.nodes[0].outcome = node_outcome::granted;
    told.nodes[1].error = "of an earlier operation";
    told.attempts = 7;
    return told;
}

bool is_empty(const report& told)
{
    return told.nodes.empty() && told.attempts == 0;
}

// The operations that have a report, each with a report, and each with an invalid argument.

template <class Operation>
struct reporting : Operation {};

template <>
struct reporting<acquiring> : acquiring {
    template <class Token>
    static void begin(scene& s, report& told, Token token)
    {
        acquire_options o = long_lease();
        o.report = &told;
        s.locks->async_acquire(s.name, o, std::move(token));
    }
    template <class Token>
    static void begin_wrong(scene& s, report& told, Token token)
    {
        acquire_options o = long_lease();
        o.ttl = 0s;
        o.report = &told;
        s.locks->async_acquire(s.name, o, std::move(token));
    }
};

template <>
struct reporting<adopting> : adopting {
    template <class Token>
    static void begin(scene& s, report& told, Token token)
    {
        s.locks->async_adopt(s.name, s.owner, long_ttl, {.report = &told}, std::move(token));
    }
    template <class Token>
    static void begin_wrong(scene& s, report& told, Token token)
    {
        s.locks->async_adopt(s.name, "nobody", long_ttl, {.report = &told}, std::move(token));
    }
};

template <>
struct reporting<extending> : extending {
    template <class Token>
    static void begin(scene& s, report& told, Token token)
    {
        s.locks->async_extend(s.held, long_ttl, {.report = &told}, std::move(token));
    }
    template <class Token>
    static void begin_wrong(scene& s, report& told, Token token)
    {
        s.locks->async_extend(s.held, 0ms, {.report = &told}, std::move(token));
    }
};

template <>
struct reporting<releasing> : releasing {
    template <class Token>
    static void begin(scene& s, report& told, Token token)
    {
        s.locks->async_release(std::move(s.held), {.report = &told}, std::move(token));
    }
    template <class Token>
    static void begin_wrong(scene& s, report& told, Token token)
    {
        s.locks->async_release(lock(), {.report = &told}, std::move(token));
    }
};

template <>
struct reporting<inspecting> : inspecting {
    template <class Token>
    static void begin(scene& s, report& told, Token token)
    {
        s.locks->async_inspect(s.name, {.report = &told}, std::move(token));
    }
    template <class Token>
    static void begin_wrong(scene& s, report& told, Token token)
    {
        s.locks->async_inspect("", {.report = &told}, std::move(token));
    }
};

using with_reports = std::tuple<acquiring, adopting, extending, releasing, inspecting>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("a report describes its operation and no earlier one", "[report]",
                        with_reports)
{
    using operation = reporting<TestType>;
    scene s(either_kind());
    operation::prepare(s);
    report told = used();
    outcome<TestType> got;
    operation::begin(s, told, got.receiver());
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    CHECK_FALSE(got.error);
    REQUIRE(told.nodes.size() == nodes().size());
    CHECK(told.attempts == 1);
    for (const auto& node : told.nodes) {
        CHECK_FALSE(node.node.empty());
        CHECK(node.error.empty());
    }
}

TEMPLATE_LIST_TEST_CASE("a report is empty when no node was asked", "[report]", with_reports)
{
    using operation = reporting<TestType>;
    scene s(either_kind());
    operation::prepare(s);
    report told = used();
    outcome<TestType> got;

    SECTION("since an argument is invalid")
    {
        operation::begin_wrong(s, told, got.receiver());
        REQUIRE(run_until(s.io, [&] { return got.done; }));
        CHECK(got.error);
    }
    SECTION("since the client is closed")
    {
        s.locks->async_close(asio::detached);
        operation::begin(s, told, got.receiver());
        REQUIRE(run_until(s.io, [&] { return got.done; }));
        CHECK(got.error == errc::closed);
    }
    CHECK(is_empty(told));
}

TEMPLATE_LIST_TEST_CASE("a report is empty when the operation was cancelled", "[report]",
                        with_reports)
{
    using operation = reporting<TestType>;
    scene s(either_kind());
    operation::prepare(s);
    report told = used();
    outcome<TestType> got;
    asio::cancellation_signal signal;
    operation::begin(s, told, asio::bind_cancellation_slot(signal.slot(), got.receiver()));
    signal.emit(cancellation_type::terminal);
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    CHECK(got.error == asio::error::operation_aborted);
    CHECK(is_empty(told));
    // Answers that arrive now don't change the report.
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().unanswered == 0; }));
    CHECK(is_empty(told));
}

TEST_CASE("a report of a cancelled wait is empty whatever the wait has seen", "[report]")
{
    running_scene s(either_kind());
    const held_by_another has(s.name);
    report told = used();
    outcome<acquiring> got;
    asio::cancellation_signal signal;
    acquire_options o = long_lease();
    o.report = &told;
    s.locks->async_acquire(s.name, o, asio::bind_cancellation_slot(signal.slot(), got.receiver()));
    const auto before = s.locks->stats().attempts;
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().attempts >= before + 3; }));
    signal.emit(cancellation_type::partial);
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    CHECK(got.error == asio::error::operation_aborted);
    CHECK(is_empty(told));
}
