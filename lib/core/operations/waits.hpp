#pragma once

#include "core/operations/context.hpp"
#include "core/operations/operation_coroutine.hpp"

#include <coroutine>

namespace redlock::core {

/// A coroutine's reference to a round. At the end of this object the round is closed, and resumes
/// no operation any more.
class held_round {
public:
    /// Takes over the reference that a new round begins with.
    held_round(node_context& shared, round& r) noexcept : shared_(shared), r_(r) {}
    held_round(const held_round&) = delete;
    held_round& operator=(const held_round&) = delete;
    ~held_round()
    {
        r_.waiter = nullptr;
        r_.closed = true;
        if (r_.what == round_kind::align) {
            r_.partner->partner = nullptr;
        }
        shared_.unref(r_);
    }

    [[nodiscard]] round& operator*() const noexcept { return r_; }
    [[nodiscard]] round* operator->() const noexcept { return &r_; }

private:
    node_context& shared_;
    round& r_;
};

// The awaitables of a coroutine. Each wait also ends when the operation is cancelled, so the
// coroutine checks `op.cancelled` after it. They get the operation from the coroutine's promise.

using waiting_coroutine = std::coroutine_handle<operation_coroutine::promise_type>;

/// The deciding vote of a round, or its deadline.
struct verdict_of {
    round& r;

    [[nodiscard]] bool await_ready() const noexcept { return r.closed; }
    [[nodiscard]] bool await_suspend(waiting_coroutine h) const noexcept
    {
        operation& op = h.promise().op;
        if (op.cancelled) {
            return false;
        }
        op.frame = h;
        r.waiter = &op;
        return true;
    }
    void await_resume() const noexcept { r.waiter = nullptr; }
};

/// An instant.
struct sleep_until {
    base::instant when;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(waiting_coroutine h) const
    {
        const auto& [c, op] = h.promise();
        if (when <= c.shared.now || op.cancelled) {
            return false;
        }
        c.scheduler.set_timer(op, when);
        op.frame = h;
        return true;
    }
    static void await_resume() noexcept {}
};

/// An instant, or an earlier event of the key that is in the way.
struct pause_until {
    operation& op;
    base::instant when;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(waiting_coroutine h) const
    {
        op.may_be_roused = true;
        return sleep_until{when}.await_suspend(h);
    }
    void await_resume() const noexcept { op.may_be_roused = false; }
};

/// The turn of an acquire.
struct wait_for_turn {
    operation& op;
    turn next;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(waiting_coroutine h) const
    {
        switch (next.what) {
            case turn::kind::now: return false;
            case turn::kind::local: op.frame = h; return true;
            case turn::kind::pause: return pause_until{op, next.until}.await_suspend(h);
        }
        return false;
    }
    void await_resume() const noexcept { op.may_be_roused = false; }
};

/// News about a node's first connection, or an instant.
struct first_contact {
    base::instant when;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(waiting_coroutine h) const
    {
        const auto& [c, op] = h.promise();
        if (!sleep_until{when}.await_suspend(h)) {
            return false;
        }
        c.scheduler.await_contact(op);
        return true;
    }
    static void await_resume() noexcept {}
};

}  // namespace redlock::core
