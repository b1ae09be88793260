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
        if (r_.what == command::raise) {
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
// `op.cancelled` behind it.

/// The deciding vote of a round, or its deadline.
struct coordinator::verdict_of {
    operation& op;
    round& r;

    [[nodiscard]] bool await_ready() const noexcept { return r.closed || op.cancelled; }
    void await_suspend(std::coroutine_handle<> h) const noexcept
    {
        op.frame = h;
        r.waiter = &op;
    }
    void await_resume() const noexcept { r.waiter = nullptr; }
};

/// An instant.
struct coordinator::sleep_until {
    coordinator& c;
    operation& op;
    base::instant when;

    [[nodiscard]] bool await_ready() const noexcept { return when <= c.now_ || op.cancelled; }
    void await_suspend(std::coroutine_handle<> h) const
    {
        c.sleepers_.set(op, when);
        op.frame = h;
    }
    void await_resume() const noexcept { c.sleepers_.remove(op); }
};

/// To be called from the line that the operation stands in.
struct coordinator::turn_in_line {
    operation& op;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { op.frame = h; }
    void await_resume() const noexcept {}
};

/// News about a node's first connection, or an instant.
struct coordinator::first_contact {
    coordinator& c;
    operation& op;
    base::instant when;

    [[nodiscard]] bool await_ready() const noexcept { return when <= c.now_ || op.cancelled; }
    void await_suspend(std::coroutine_handle<> h) const
    {
        c.sleepers_.set(op, when);
        op.frame = h;
        op.is_newcomer = true;
        c.newcomers_.push_back(op);
    }
    void await_resume() const noexcept { c.sleepers_.remove(op); }
};

}  // namespace redlock::core
