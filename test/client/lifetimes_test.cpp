#include "client/operations.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Ports without a listener, because the servers are gone.
config deserted()
{
    config c = either_kind();
    masters gone(3);
    c.nodes = gone.urls();
    return c;
}

/// One of each operation that a running client can have pending.
struct everything {
    void begin(scene& s, lock& extended, lock released, std::string_view owner)
    {
        s.locks->async_run(once(handlers, [this](error_code ec) { run = ec; }));
        s.locks->async_acquire(s.name, long_lease(), once(handlers, acquire.receiver()));
        s.locks->async_adopt(s.name, owner, long_ttl, once(handlers, adopt.receiver()));
        s.locks->async_extend(extended, long_ttl, once(handlers, extend.receiver()));
        s.locks->async_release(std::move(released), once(handlers, release.receiver()));
        s.locks->async_inspect(s.name, once(handlers, inspect.receiver()));
        s.locks->async_acquire("", once(handlers, refused.receiver()));
    }

    static constexpr unsigned count = 7;

    ledger handlers;
    std::optional<error_code> run;
    outcome<acquiring> acquire;
    outcome<acquiring> refused;
    outcome<adopting> adopt;
    outcome<extending> extend;
    outcome<releasing> release;
    outcome<inspecting> inspect;
};

}  // namespace

TEST_CASE("a client that is destroyed ends its pending operations", "[lifetimes]")
{
    running_scene s(either_kind());
    lock extended = s.take(fresh_name());
    lock released = s.take(fresh_name());
    everything all;
    all.begin(s, extended, std::move(released), extended.owner_token());
    s.locks.reset();
    s.io.run_for(patience);
    CHECK(s.io.stopped());
    CHECK(all.handlers.called == everything::count);
    CHECK(all.handlers.called_again == 0);
    CHECK(s.ended == make_error_code(errc::closed));
    CHECK(all.run == make_error_code(asio::error::already_started));
    CHECK(all.acquire.error == errc::closed);
    CHECK(all.adopt.error == errc::closed);
    CHECK(all.extend.error == errc::closed);
    CHECK(all.release.error == errc::closed);
    CHECK(all.inspect.error == errc::closed);
    CHECK(all.refused.error == errc::invalid_resource);
}

TEST_CASE("an assignment to a client ends the pending operations of the old client", "[lifetimes]")
{
    running_scene s;
    outcome<acquiring> old;
    acquiring::begin(s, old.receiver());
    client& locks = *s.locks;
    locks = client(s.io, shared_config());
    REQUIRE(run_until(s.io, [&] { return old.done; }));
    CHECK(old.error == errc::closed);

    client& same = locks;
    locks = std::move(same);
    s.begin_run();
    outcome<acquiring> fresh;
    s.name = fresh_name();
    acquiring::begin(s, fresh.receiver());
    REQUIRE(run_until(s.io, [&] { return fresh.done; }));
    CHECK(fresh.fulfilled(s));
}

TEST_CASE("a context that is destroyed destroys the handlers of pending operations", "[lifetimes]")
{
    const config c = either_kind();
    for (unsigned after = 0; after < 40; ++after) {
        CAPTURE(after);
        everything all;
        {
            // In this order, so that the locks and the client end after the context.
            lock extended;
            lock released;
            std::optional<client> survivor;
            scene s(c);
            s.begin_run();
            extended = s.take(fresh_name());
            released = s.take(fresh_name());
            all.begin(s, extended, std::move(released), extended.owner_token());
            for (unsigned i = 0; i < after; ++i) {
                s.io.poll_one();
            }
            survivor.emplace(std::move(*s.locks));
            s.locks.reset();
        }
        CHECK(all.handlers.called + all.handlers.destroyed_uncalled == everything::count);
        CHECK(all.handlers.called_again == 0);
    }
}

TEST_CASE("a client that ends together with its context destroys its handlers", "[lifetimes]")
{
    ledger of;
    {
        asio::io_context io{1};
        // The strand's service is younger than the one that watches the context, and ends first.
        client before(io, shared_config());
        config c = shared_config();
        c.thread_safe = true;
        std::optional<client> locks(std::in_place, io, c);
        locks->async_acquire(fresh_name(), long_lease(), once(of, [](error_code, lock) {}));
        locks->async_run(once(of, [](error_code) {}));
        io.poll();
        // The client's end waits on the strand, and is destroyed there.
        locks.reset();
    }
    // A fast server may have granted the lock within the poll.
    CHECK(of.called + of.destroyed_uncalled == 2);
    CHECK(of.destroyed_uncalled >= 1);
}

TEMPLATE_LIST_TEST_CASE("a cancellation signal may end before or after the context", "[lifetimes]",
                        all_operations)
{
    const bool signal_first = GENERATE(true, false);
    const config c = either_kind();
    for (unsigned after = 0; after < 12; ++after) {
        CAPTURE(signal_first, after);
        ledger handlers;
        outcome<TestType> got;
        std::optional<client> survivor;
        std::optional<asio::cancellation_signal> signal(std::in_place);
        {
            scene s(c);
            TestType::prepare(s);
            TestType::begin(
                s, asio::bind_cancellation_slot(signal->slot(), once(handlers, got.receiver())));
            for (unsigned i = 0; i < after; ++i) {
                s.io.poll_one();
            }
            survivor.emplace(std::move(*s.locks));
            if (signal_first) {
                signal.reset();
            }
        }
        if (signal) {
            // There is nothing left to cancel.
            signal->emit(cancellation_type::terminal);
        }
        CHECK(handlers.called + handlers.destroyed_uncalled == 1);
        CHECK(handlers.called_again == 0);
    }
}

TEST_CASE("a handler of another context is destroyed with that context", "[lifetimes]")
{
    running_scene s(either_kind());
    ledger of;
    {
        asio::io_context other{1};
        s.locks->async_acquire(
            s.name, long_lease(),
            asio::bind_executor(other.get_executor(), once(of, [](error_code, lock) {})));
        REQUIRE(run_until(s.io, [&] { return s.locks->stats().acquired == 1; }));
        s.io.poll();
        CHECK(of.called == 0);
    }
    CHECK(of.called == 0);
    CHECK(of.destroyed_uncalled == 1);
    // The lock was in that handler.
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("a lock outlives its client", "[lifetimes]")
{
    scene s(either_kind());
    extending::prepare(s);
    const std::string owner(s.held.owner_token());
    s.locks.reset();
    CHECK(run_out(s.io));
    CHECK(s.held);
    CHECK(s.held.resource() == s.name);
    CHECK(s.held.owner_token() == owner);

    SECTION("and is dropped")
    {
        s.held = {};
    }
    SECTION("and is detached")
    {
        CHECK(std::move(s.held).detach() == owner);
    }
    CHECK(run_out(s.io));
    // No client was left to release the lock, so it expires.
    CHECK(nodes().count(s.name) == nodes().size());
}

TEST_CASE("a lock and a client outlive their context", "[lifetimes]")
{
    const config c = either_kind();
    lock dropped;
    lock handed_over;
    std::optional<client> locks;
    {
        running_client alone(c);
        dropped = alone.take(fresh_name());
        handed_over = alone.take(fresh_name());
        locks.emplace(std::move(*alone.locks));
    }
    CHECK(dropped.owns());
    CHECK(dropped.owner_token().size() == 40);
    dropped = {};
    CHECK(std::move(handed_over).detach().size() == 40);
    CHECK(locks->stats().acquired == 2);
    locks.reset();
}

TEST_CASE("a client on a strand outlives its context", "[lifetimes]")
{
    std::optional<client> locks;
    lock held;
    {
        scene s;
        s.locks.emplace(asio::any_io_executor(asio::make_strand(s.io)), shared_config());
        s.start();
        held = s.take(s.name);
        locks.emplace(std::move(*s.locks));
    }
    CHECK(held.owns());
}

TEST_CASE("p34: a lock is dropped while the stack is unwound", "[lifetimes][pitfall][p34]")
{
    running_scene s(either_kind());
    try {
        const lock l = s.take(s.name);
        throw std::runtime_error("of the test");
    } catch (const std::runtime_error&) {
        CHECK(s.keys_become(0, s.name));
    }
}

TEST_CASE("p34: a lock is dropped when all nodes are down", "[lifetimes][pitfall][p34]")
{
    masters own(3);
    config c = either_kind();
    c.nodes = own.urls();
    running_scene s(c);
    s.held = s.take(s.name);
    REQUIRE(run_until(s.io, [&] { return s.held.granted_by() == own.size(); }));
    for (std::size_t i = 0; i < own.size(); ++i) {
        own[i].kill();
    }
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().nodes_ready == 0; }));

    SECTION("by itself")
    {
        s.held = {};
    }
    SECTION("while the stack is unwound with the context stopped")
    {
        s.io.stop();
        try {
            const lock l = std::move(s.held);
            throw std::runtime_error("of the test");
        } catch (const std::runtime_error&) {
            CHECK_FALSE(s.held);
        }
        s.io.restart();
    }
    SECTION("by the client's end")
    {
        s.locks.reset();
        s.held = {};
        CHECK(run_out(s.io));
    }
    if (s.locks) {
        REQUIRE(run_until(s.io, [&] { return s.locks->stats().dropped == 1; }));
        CHECK(s.locks->stats().pending_releases == own.size());
        for (std::size_t i = 0; i < own.size(); ++i) {
            own[i].start();
        }
        CHECK(run_until(s.io, [&] { return s.locks->stats().nodes_ready == own.size(); }));
    }
}

TEST_CASE("a client whose nodes are absent ends at once", "[lifetimes]")
{
    scene s(deserted());
    ledger of;
    outcome<acquiring> got;
    s.begin_run();
    acquiring::begin(s, once(of, got.receiver()));
    REQUIRE(run_until(s.io, [&] { return s.locks->stats().nodes_connecting == 0; }));
    CHECK_FALSE(got.done);

    SECTION("closed")
    {
        s.locks->async_close(asio::detached);
        CHECK(run_out(s.io));
        CHECK(got.error == errc::closed);
        CHECK(s.ended == error_code{});
    }
    SECTION("destroyed")
    {
        s.locks.reset();
        CHECK(run_out(s.io));
        CHECK(got.error == errc::closed);
        CHECK(s.ended == make_error_code(errc::closed));
    }
}

TEST_CASE("a moved-from lock holds nothing", "[lifetimes]")
{
    scene s;
    extending::prepare(s);
    lock other = std::move(s.held);
    CHECK_FALSE(s.held);
    CHECK_FALSE(s.held.owns());
    CHECK(s.held.remaining() == 0ns);
    CHECK(s.held.valid_until() == boot_clock::time_point{});
    CHECK(s.held.resource().empty());
    CHECK(s.held.owner_token().empty());
    CHECK(s.held.granted_by() == 0);
    CHECK(std::move(s.held).detach().empty());
    CHECK(other.owns());

    lock& same = other;
    other = std::move(same);
    CHECK(other.owns());
    CHECK(other.resource() == s.name);
    s.io.poll();
    CHECK(nodes().count(s.name) == nodes().size());
}

TEST_CASE("a lock that is assigned to releases what it held", "[lifetimes]")
{
    running_scene s;
    s.held = s.take(s.name);
    const std::string other = fresh_name();
    s.held = s.take(other);
    CHECK(s.keys_become(0, s.name));
    CHECK(s.held.resource() == other);
    CHECK(nodes().count(other) == nodes().size());
}

TEST_CASE("a second run of a client is refused", "[lifetimes]")
{
    running_scene s(either_kind());
    outcome<running> again;
    running::begin(s, again.receiver());
    REQUIRE(run_until(s.io, [&] { return again.done; }));
    CHECK(again.error == asio::error::already_started);
    CHECK_FALSE(s.ended);
    // The first run continues.
    CHECK(s.take(s.name).owns());
}

TEST_CASE("a closing client ends waits and sends releases", "[lifetimes]")
{
    running_scene s(either_kind());
    s.held = s.take(s.name);
    const std::string contended = fresh_name();
    lock kept = s.take(contended);
    outcome<acquiring> waiting;
    s.locks->async_acquire(contended, long_lease(), waiting.receiver());
    outcome<releasing> release;
    releasing::begin(s, release.receiver());
    outcome<closing> first;
    outcome<closing> second;
    closing::begin(s, first.receiver());
    closing::begin(s, second.receiver());
    outcome<acquiring> late;
    s.locks->async_acquire(fresh_name(), long_lease(), late.receiver());
    CHECK(run_out(s.io));
    CHECK((first.done && second.done && s.ended.has_value()));
    CHECK(first.error == error_code{});
    CHECK(second.error == error_code{});
    CHECK(s.ended == error_code{});
    CHECK(waiting.error == errc::closed);
    CHECK(late.error == errc::closed);
    CHECK(release.fulfilled(s));
    CHECK(nodes().count(s.name) == 0);
    // The held locks expire.
    CHECK(kept.owns());
    CHECK(nodes().count(contended) == nodes().size());

    outcome<closing> third;
    closing::begin(s, third.receiver());
    CHECK(run_out(s.io));
    CHECK((third.done && !third.error));
}

TEST_CASE("a closing client waits for the locks that were just dropped", "[lifetimes]")
{
    running_scene s(either_kind());
    s.held = s.take(s.name);
    s.held = {};
    s.locks->async_close(asio::detached);
    CHECK(run_out(s.io));
    CHECK(nodes().count(s.name) == 0);
}

TEST_CASE("a client that closes in the middle of an acquire leaves no key", "[lifetimes]")
{
    for (unsigned after = 0; after < 12; ++after) {
        CAPTURE(after);
        running_scene s;
        outcome<acquiring> got;
        acquiring::begin(s, got.receiver());
        for (unsigned i = 0; i < after && !got.done; ++i) {
            s.io.run_one_for(20ms);  // the client may close at each moment
        }
        s.locks->async_close(asio::detached);
        CHECK(run_out(s.io));
        REQUIRE(got.done);
        // An outcome that was decided before remains.
        CHECK((got.fulfilled(s) || got.error == errc::closed));
        CHECK(nodes().count(s.name) == (got.error ? 0 : nodes().size()));
    }
}

TEST_CASE("an acquire may begin before the run", "[lifetimes]")
{
    scene s(either_kind());
    outcome<acquiring> got;
    acquiring::begin(s, got.receiver());
    s.io.poll();
    CHECK_FALSE(got.done);
    s.begin_run();
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    CHECK(got.fulfilled(s));
}

TEST_CASE("a client that never ran can be closed and destroyed", "[lifetimes]")
{
    scene s(either_kind());
    outcome<acquiring> got;
    acquiring::begin(s, got.receiver());

    SECTION("closed")
    {
        outcome<closing> close;
        closing::begin(s, close.receiver());
        CHECK(run_out(s.io));
        CHECK((close.done && !close.error));
    }
    SECTION("destroyed")
    {
        s.locks.reset();
        CHECK(run_out(s.io));
    }
    CHECK(got.error == errc::closed);
}
