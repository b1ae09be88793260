#include "client/fixture.hpp"
#include "support/allocation_count.hpp"
#include "support/scripted_server.hpp"

#include <redlock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// One handler and its results.
template <class Result>
struct pending_handler {
    ledger in;
    std::optional<Result> result;

    [[nodiscard]] bool has_ended() const { return in.called + in.destroyed_uncalled > 0; }
};

acquire_options patiently()
{
    acquire_options o = long_lease();
    o.timeout = patience / 2;
    return o;
}

/// A life of a client in which some allocations fail. It begins operations of all kinds, one after
/// the other, and then memory is available again. The client is not `thread_safe`, because a strand
/// of Asio that had no memory to be woken never runs again.
class hungry_life {
public:
    hungry_life(const scripted_server& node, unsigned before, unsigned many)
        : config_(settings(node)),
          memory_(before, many),
          has_scopes_(many == 1)
    {}

    void live()
    {
        attempt([&] { locks_.emplace(io_, config_); });
        if (locks_) {
            use();
            memory_.end();
            recover();
            attempt([&] { locks_.reset(); });
        }
        // Nothing is left that would run forever.
        io_.restart();
        REQUIRE(go_on_until([&] { return io_.stopped(); }));
        if (run_ != nullptr) {
            check_told(*run_);
        }
    }

    [[nodiscard]] unsigned failed() const noexcept { return memory_.failed(); }

private:
    using told = pending_handler<error_code>;
    struct taken {
        error_code error;
        lock held;
    };

    static config settings(const scripted_server& node)
    {
        config c;
        c.nodes = {node.url()};
        // As a rule no life waits for one of these, whichever allocation fails. If a busy machine
        // makes an attempt too slow, the acquire makes another one.
        c.node_timeout = 2s;
        c.connect_timeout = 5s;
        c.stall_timeout = 5s;
        c.close_timeout = 2s;
        c.reconnect_backoff_min = 1ms;
        c.reconnect_backoff_max = 5ms;
        c.backoff_max = 5ms;
        return c;
    }

    /// Whether the call succeeded.
    template <class What>
    bool attempt(What what)
    {
        try {
            const failing_allocations::in here(memory_);
            what();
            return true;
        } catch (const std::bad_alloc&) {
            ++thrown_;
            return false;
        }
    }

    /// Runs as a user's thread that continues after any exception.
    template <class Done>
    bool go_on_until(Done done)
    {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!done()) {
            if (std::chrono::steady_clock::now() >= end) {
                return false;
            }
            attempt([&] {
                io_.restart();
                io_.run_one_for(2ms);
            });
        }
        return true;
    }

    /// Outlives the handlers, however the test ends.
    template <class Result>
    pending_handler<Result>& pending()
    {
        auto made = std::make_shared<pending_handler<Result>>();
        pending_.push_back(made);
        return *made;
    }

    template <class Result>
    void check_told(const pending_handler<Result>& p)
    {
        CHECK(p.in.called + p.in.destroyed_uncalled <= 1);
        // A handler may stay uncalled only if an exception has reported its end, and each exception
        // reports one.
        uncalled_ += p.in.destroyed_uncalled;
        CHECK(uncalled_ <= thrown_);
    }

    template <class Result>
    void await(const char* what, const pending_handler<Result>& p)
    {
        CAPTURE(what, thrown_);
        REQUIRE(go_on_until([&] { return p.has_ended(); }));
        check_told(p);
    }

    /// Repeats until the call succeeds.
    void begin_run()
    {
        do {
            run_ = &pending<error_code>();
        } while (!attempt([&] {
            locks_->async_run(once(run_->in, [to = run_](error_code ec) { to->result = ec; }));
        }));
    }

    lock take(const char* name)
    {
        auto& p = pending<taken>();
        attempt([&] {
            locks_->async_acquire(name, patiently(), once(p.in, [&p](error_code ec, lock l) {
                                      p.result.emplace(taken{ec, std::move(l)});
                                  }));
        });
        await("acquire", p);
        if (!p.result) {
            return {};
        }
        CHECK(static_cast<bool>(p.result->held) == !p.result->error);
        CHECK((!p.result->held || p.result->held.owns()));
        return std::move(p.result->held);
    }

    void extend(lock& held)
    {
        auto& p = pending<error_code>();
        attempt([&] {
            locks_->async_extend(held, 2 * long_ttl,
                                 once(p.in, [&p](error_code ec) { p.result = ec; }));
        });
        await("extend", p);
        if (p.result == error_code{}) {
            CHECK(held.remaining() > long_ttl);
        }
    }

    void release(lock held)
    {
        auto& p = pending<error_code>();
        attempt([&] {
            locks_->async_release(std::move(held), once(p.in, [&p](error_code ec, release_result) {
                                      p.result = ec;
                                  }));
        });
        await("release", p);
    }

    /// This operation is cancelled at once.
    void cancel()
    {
        auto& p = pending<error_code>();
        auto& signal = *std::static_pointer_cast<asio::cancellation_signal>(
            pending_.emplace_back(std::make_shared<asio::cancellation_signal>()));
        const bool begun = attempt([&] {
            locks_->async_acquire(
                "cancelled", patiently(),
                asio::bind_cancellation_slot(
                    signal.slot(), once(p.in, [&p](error_code ec, lock) { p.result = ec; })));
        });
        if (begun) {
            attempt([&] { signal.emit(asio::cancellation_type::terminal); });
        }
        await("cancel", p);
    }

    template <class Body>
    void scope(const char* what, Body body)
    {
        auto& p = pending<with_lock_status>();
        attempt([&] {
            with_lock(*locks_, "scope", patiently(), std::move(body),
                      once(p.in, [&p](with_lock_result<void> r) { p.result = r.status; }));
        });
        await(what, p);
    }

    void scopes()
    {
        scope("a coroutine under a lock", [](lock&) -> asio::awaitable<void> {
            co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        });
        scope("a coroutine that loses the lock", [](lock& l) -> asio::awaitable<void> {
            const auto own = std::move(l);
            co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        });
        scope("handlers under a lock", [](lock_scope s) {
            const auto ex = s.get_executor();
            asio::post(ex, [s = std::move(s)]() mutable { s.done(); });
        });
    }

    void use()
    {
        begin_run();
        cancel();
        if (lock held = take("held")) {
            auto& lost = pending<error_code>();
            attempt([&] {
                held.async_wait_lost(once(lost.in, [&lost](error_code ec) { lost.result = ec; }));
            });
            extend(held);
            release(std::move(held));
            await("wait for a loss", lost);
        }
        if (has_scopes_) {
            scopes();
        }
        (void)take("dropped");
    }

    /// With memory again, the client works as before.
    void recover()
    {
        lock held = take("recovered");
        CHECK(held);
        extend(held);
        release(std::move(held));
        auto& closed = pending<error_code>();
        attempt([&] {
            locks_->async_close(once(closed.in, [&closed](error_code ec) { closed.result = ec; }));
        });
        await("close", closed);
        CHECK(closed.result == error_code{});
        CHECK((run_->result == error_code{} || run_->in.destroyed_uncalled > 0));
    }

    const config config_;
    std::vector<std::shared_ptr<void>> pending_;
    told* run_ = nullptr;
    asio::io_context io_{1};
    failing_allocations memory_;
    /// When Asio destroys a coroutine it needs memory, and ends the program if there is none. After
    /// one failure there is memory.
    const bool has_scopes_;
    unsigned thrown_ = 0;
    unsigned uncalled_ = 0;
    std::optional<client> locks_;
};

}  // namespace

/// Several allocations in a row fail as well, so that fallbacks fail too.
TEST_CASE("each operation ends once whichever allocation fails and the client then recovers",
          "[memory]")
{
    const unsigned many = GENERATE(1U, 2U, 5U);
    const scripted_server node([](scripted_connection& c) { return c.serve(); });
    unsigned lives = 0;
    for (bool failed = true; failed; ++lives) {
        CAPTURE(many, lives);
        hungry_life one(node, lives, many);
        one.live();
        failed = one.failed() > 0;
    }
    CHECK(lives > 50);
    CHECK(node.failures().empty());
}

TEST_CASE("an operation whose batch finds no memory completes without a further event", "[memory]")
{
    constexpr std::size_t locks_in_batch = 60;
    constexpr std::size_t block_of_output = 64 * 1024;
    const auto name = [](std::size_t i) { return std::to_string(i) + std::string(240, 'x'); };
    const scripted_server node([](scripted_connection& c) { return c.serve(); });
    config c;
    c.nodes = {node.url()};
    c.reconnect_backoff_min = c.reconnect_backoff_max = patience;
    asio::io_context io{1};
    client locks(io, c);
    locks.async_run(asio::detached);
    std::vector<lock> held;
    for (std::size_t i = 0; i < locks_in_batch; ++i) {
        locks.async_acquire(name(i), patiently(),
                            [&held](error_code, lock l) { held.push_back(std::move(l)); });
    }
    REQUIRE(run_until(io, [&] { return held.size() == locks_in_batch; }));
    io.restart();
    io.poll();

    // No block of output is left over, and the last one has no room for the batch.
    std::size_t begun = 0;
    std::size_t ended = 0;
    for (; locks.stats().buffered_bytes < 3 * block_of_output - 8 * 1024; ++begun) {
        acquire_options once_only = long_lease();
        once_only.timeout = 0ms;
        once_only.max_attempts = 1;
        locks.async_acquire(name(locks_in_batch + begun), once_only,
                            [&ended](error_code, const lock&) { ++ended; });
    }
    for (lock& l : held) {
        locks.async_extend(l, 2 * long_ttl, [&ended](error_code) { ++ended; });
        ++begun;
    }
    failing_allocations memory(0, 1);
    io.restart();
    {
        const failing_allocations::in here(memory);
        io.poll_one();
    }
    REQUIRE(memory.failed() == 1);
    CHECK(ended == 0);
    io.poll();
    CHECK(ended == begun);
}
