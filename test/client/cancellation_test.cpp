#include "client/operations.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <functional>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// An operation that has not ended after this number of handlers waits for something.
constexpr unsigned enough_handlers = 40;

/// If no handler is ready for this time, an operation that waits for something counts as waiting.
constexpr auto a_moment = 20ms;

[[nodiscard]] bool is_in(cancellation_type one, cancellation_type set)
{
    return (one & set) != cancellation_type::none;
}

/// Whether the operation ends by itself on nodes that answer.
template <class Operation>
constexpr bool ends_by_itself = !std::is_same_v<Operation, running>;

/// One operation that is cancelled when `after` handlers have run, or none was ready for `idle`.
template <class Operation>
struct attempt {
    attempt(scene& s, cancellation_type type, unsigned after,
            std::chrono::milliseconds idle = ends_by_itself<Operation> ? patience : a_moment)
    {
        Operation::begin(
            s, asio::bind_cancellation_slot(signal.slot(), once(handlers, got.receiver())));
        for (; handled < after && !got.done && s.io.run_one_for(idle) == 1; ++handled) {
        }
        was_over = got.done;
        signal.emit(type);
    }

    ledger handlers;
    outcome<Operation> got;
    asio::cancellation_signal signal;
    unsigned handled = 0;
    /// The cancellation came too late.
    bool was_over = false;
};

/// Asio's requirements on a slot.
class own_slot {
public:
    explicit own_slot(std::function<void(cancellation_type)>& held) noexcept : held_(&held) {}

    [[nodiscard]] bool is_connected() const noexcept { return true; }
    template <class Canceller>
    void assign(Canceller c)
    {
        *held_ = std::move(c);
    }
    void clear() noexcept { *held_ = nullptr; }

private:
    std::function<void(cancellation_type)>* held_;
};

struct with_own_slot {
    using cancellation_slot_type = own_slot;

    own_slot slot;
    outcome<acquiring>& told;

    [[nodiscard]] own_slot get_cancellation_slot() const noexcept { return slot; }
    void operator()(error_code ec, lock l) const { told.take(ec, std::move(l)); }
};

/// Closes the client, and shows that nothing is left in the context.
void expect_nothing_left(scene& s)
{
    s.held = {};
    s.locks->async_close(asio::detached);
    CHECK(run_out(s.io));
    CHECK(s.locks->stats().in_flight == 0);
}

// The expected state after an operation that was cancelled.

void expect_after(running, scene& s, error_code)
{
    CHECK(s.locks->stats().nodes_ready == 0);
}

void expect_after(acquiring, scene& s, error_code)
{
    CHECK(s.keys_become(0, s.name));
}

void expect_after(adopting, scene& s, error_code)
{
    CHECK(s.keys_become(nodes().size(), s.name));
}

void expect_after(extending, scene& s, error_code)
{
    CHECK(s.held.owns());
    CHECK(s.keys_become(nodes().size(), s.name));
}

void expect_after(releasing, scene& s, error_code)
{
    CHECK_FALSE(s.held);
    CHECK(s.keys_become(0, s.name));
}

void expect_after(inspecting, scene& s, error_code)
{
    CHECK(s.held.owns());
}

void expect_after(closing, scene& s, error_code)
{
    CHECK(run_until(s.io, [&] { return s.ended.has_value(); }));
}

template <class Operation>
void sweep(cancellation_type type, auto&& prepare)
{
    bool over = false;
    unsigned aborted = 0;
    for (unsigned after = 0; !over && after < enough_handlers; ++after) {
        CAPTURE(after, static_cast<unsigned>(type));
        scene s;
        prepare(s);
        attempt<Operation> a(s, type, after);
        over = a.was_over;
        if (!is_in(type, Operation::cancels)) {
            Operation::finish(s);
        }
        REQUIRE(run_until(s.io, [&] { return a.got.done; }));
        CHECK((!a.got.error || a.got.error == asio::error::operation_aborted));
        aborted += a.got.error ? 1U : 0U;
        if (a.was_over || !is_in(type, Operation::cancels)) {
            CHECK(a.got.fulfilled(s));
        }
        if (a.got.error) {
            expect_after(Operation{}, s, a.got.error);
        }
        a.got.value = {};
        expect_nothing_left(s);
        CHECK(a.handlers.called == 1);
        CHECK(a.handlers.called_again == 0);
        CHECK(a.handlers.destroyed_uncalled == 0);
    }
    CHECK((over || aborted == enough_handlers || !is_in(type, Operation::cancels)));
    // Total cancellation comes too late for an operation that has sent something.
    CHECK((aborted > 0 || type == cancellation_type::total || !is_in(type, Operation::cancels)));
}

cancellation_type any_type()
{
    return GENERATE(cancellation_type::terminal, cancellation_type::partial,
                    cancellation_type::total);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("p19: an operation can be cancelled after any number of handlers",
                        "[cancellation][pitfall][p19]", all_operations)
{
    sweep<TestType>(any_type(), [](scene& s) { TestType::prepare(s); });
}

TEST_CASE("an acquire can be cancelled at any point of the first connections", "[cancellation]")
{
    sweep<acquiring>(any_type(), [](scene& s) { s.begin_run(); });
}

TEST_CASE("an operation that honours a cancellation and is cancelled at once is aborted",
          "[cancellation]")
{
    const auto type = GENERATE(cancellation_type::terminal, cancellation_type::partial);
    const auto aborted = [&]<class Operation>(Operation) {
        scene s;
        Operation::prepare(s);
        attempt<Operation> a(s, type, 0);
        REQUIRE(run_until(s.io, [&] { return a.got.done; }));
        CHECK(a.got.error == asio::error::operation_aborted);
        expect_after(Operation{}, s, a.got.error);
    };
    std::apply([&](auto... operation) { (aborted(operation), ...); }, all_operations{});
}

TEST_CASE("an acquire that waits for the lock can be cancelled", "[cancellation]")
{
    const auto type = GENERATE(cancellation_type::terminal, cancellation_type::partial);
    for (unsigned after = 0; after < enough_handlers; ++after) {
        CAPTURE(after);
        running_scene s;
        s.held = s.take(s.name);
        attempt<acquiring> a(s, type, after, a_moment);
        REQUIRE_FALSE(a.was_over);
        REQUIRE(run_until(s.io, [&] { return a.got.done; }));
        CHECK(a.got.error == asio::error::operation_aborted);
        CHECK(a.handlers.called == 1);
        // The cancelled acquire must leave the holder's keys alone. The last node may answer the
        // holder's SET later than a majority; a deleted key would never return.
        CHECK(s.held.owns());
        CHECK(s.keys_become(nodes().size(), s.name));
        CHECK(s.locks->stats().cancelled == 1);
        expect_nothing_left(s);
    }
}

TEST_CASE("a handler may have its own type of cancellation slot", "[cancellation]")
{
    running_scene s;
    const lock theirs = s.take(s.name);
    std::function<void(cancellation_type)> cancel;
    outcome<acquiring> got;
    s.locks->async_acquire(s.name, long_lease(), with_own_slot{own_slot(cancel), got});
    REQUIRE(cancel);
    const auto emit = cancel;
    emit(cancellation_type::terminal);
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    CHECK(got.error == asio::error::operation_aborted);
    CHECK_FALSE(cancel);
}

TEST_CASE("total cancels an acquire that has sent nothing", "[cancellation]")
{
    scene s(either_kind());

    SECTION("before the client runs")
    {
        attempt<acquiring> a(s, cancellation_type::total, 3, a_moment);
        REQUIRE(run_until(s.io, [&] { return a.got.done; }));
        CHECK(a.got.error == asio::error::operation_aborted);
    }
    SECTION("but not after the acquire has sent its commands")
    {
        s.start();
        attempt<acquiring> a(s, cancellation_type::total, 2);
        REQUIRE(run_until(s.io, [&] { return a.got.done; }));
        CHECK(a.got.fulfilled(s));
    }
}

TEST_CASE("a cancellation affects only its own operation", "[cancellation]")
{
    running_scene s(either_kind());
    // The first operation has ended, but its handler has not been called. Its record serves the
    // second operation.
    asio::io_context other{1};
    asio::cancellation_signal first;
    outcome<acquiring> one;
    s.locks->async_acquire(
        fresh_name(), long_lease(),
        asio::bind_executor(other.get_executor(),
                            asio::bind_cancellation_slot(first.slot(), one.receiver())));
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().acquired == 1; }));
    s.io.poll();
    outcome<acquiring> two;
    s.locks->async_acquire(s.name, long_lease(), two.receiver());
    first.emit(cancellation_type::terminal);
    REQUIRE(run_until(s.io, [&] { return two.done; }));
    CHECK(two.fulfilled(s));
    REQUIRE(run_until(other, [&] { return one.done; }));
    CHECK_FALSE(one.error);
}

TEST_CASE("a run that is cancelled ends all pending operations", "[cancellation]")
{
    scene s;
    asio::cancellation_signal stop;
    outcome<running> run;
    s.locks->async_run(asio::bind_cancellation_slot(stop.slot(), run.receiver()));
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().nodes_ready == nodes().size(); }));
    s.held = s.take(s.name);
    outcome<acquiring> waiting;
    acquiring::begin(s, waiting.receiver());
    s.io.poll();
    stop.emit(cancellation_type::terminal);
    REQUIRE(run_until(s.io, [&] { return run.done && waiting.done; }));
    CHECK(run.error == asio::error::operation_aborted);
    CHECK(waiting.error == errc::closed);
    // An operation that has ended can't be cancelled any more.
    outcome<running> again;
    s.locks->async_run(again.receiver());
    REQUIRE(run_until(s.io, [&] { return again.done; }));
    CHECK(again.error == errc::closed);
    s.held = {};
    CHECK(run_out(s.io));
}
