#pragma once

#include "core/coordinator.hpp"

#include <coroutine>

namespace redlock::core {

/// A round that a flow has a hand on, for as long as it may look at it.
class coordinator::held_round {
public:
    /// Takes over the reference that a new round begins with.
    held_round(coordinator& c, round& r) noexcept : c_(c), r_(r) {}
    held_round(const held_round&) = delete;
    held_round& operator=(const held_round&) = delete;
    ~held_round()
    {
        r_.waiter = nullptr;
        r_.closed = true;
        if (r_.what == round_kind::align) {
            r_.partner->partner = nullptr;
        }
        c_.unref(r_);
    }

    [[nodiscard]] round& operator*() const noexcept { return r_; }
    [[nodiscard]] round* operator->() const noexcept { return &r_; }

private:
    coordinator& c_;
    round& r_;
};

// What a flow may wait for. Each ends early when the operation is cancelled; the flow asks
// `op.cancelled` behind it. They stand in the frame, one a place that waits: whose flow it is, the
// promise knows.

using waiting_flow = std::coroutine_handle<flow::promise_type>;

/// The deciding vote of a round, or its deadline.
struct coordinator::verdict_of {
    round& r;

    [[nodiscard]] bool await_ready() const noexcept { return r.closed; }
    [[nodiscard]] bool await_suspend(waiting_flow h) const noexcept
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
struct coordinator::sleep_until {
    base::instant when;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(waiting_flow h) const
    {
        const auto& [c, op] = h.promise();
        if (when <= c.shared_.now || op.cancelled) {
            return false;
        }
        c.scheduler_.sleep(op, when);
        op.frame = h;
        return true;
    }
    static void await_resume() noexcept {}
};

/// To be called from the line that the operation stands in.
struct coordinator::turn_in_line {
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    static void await_suspend(waiting_flow h) noexcept { h.promise().op.frame = h; }
    static void await_resume() noexcept {}
};

/// News about a node's first connection, or an instant.
struct coordinator::first_contact {
    base::instant when;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(waiting_flow h) const
    {
        const auto& [c, op] = h.promise();
        if (!sleep_until{when}.await_suspend(h)) {
            return false;
        }
        c.scheduler_.await_contact(op);
        return true;
    }
    static void await_resume() noexcept {}
};

}  // namespace redlock::core
