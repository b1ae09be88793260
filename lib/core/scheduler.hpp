#pragma once

#include "base/instant.hpp"
#include "core/operation.hpp"
#include "core/wake_ups.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace redlock::core {

/// A wait shorter than this is not worth a timer, and no attempt would fit behind it.
inline constexpr base::nanos least_wait = std::chrono::milliseconds{1};

/// The operations of a client: those that can go on, and those that wait for an instant or for a
/// connection.
class scheduler {
public:
    /// From here on, the operation is under way.
    void begin(operation& op) noexcept
    {
        under_way_.push_back(op);
        ++by_kind_[static_cast<std::size_t>(op.what)];
    }
    void end(operation& op) noexcept
    {
        --by_kind_[static_cast<std::size_t>(op.what)];
        under_way_.remove(op);
    }
    /// All operations under way, the oldest first.
    [[nodiscard]] operation_list& under_way() noexcept { return under_way_; }
    [[nodiscard]] std::size_t size() const noexcept { return under_way_.size(); }
    [[nodiscard]] std::size_t count_of(operation::kind what) const noexcept
    {
        return by_kind_[static_cast<std::size_t>(what)];
    }

    /// The operation can go on. Does nothing if that is known.
    void resume(operation& op) noexcept
    {
        if (op.is_newcomer) {
            op.is_newcomer = false;
            newcomers_.remove(op);
        }
        if (!static_cast<list_hook<in_queue>&>(op).is_linked()) {
            ready_.push_back(op);
        }
    }
    /// The next operation that can go on; null: there is none.
    [[nodiscard]] operation* next_ready() noexcept { return ready_.pop_front(); }

    /// The operation waits until `when`, and no longer for another instant. May throw
    /// `std::bad_alloc` if the operation waits for no instant yet; nothing changes then.
    void sleep(operation& op, base::instant when) { sleepers_.set(op, when); }
    /// Does nothing if the operation waits for no instant.
    void stop_sleeping(operation& op) noexcept { sleepers_.remove(op); }
    /// An operation whose instant has come, and which goes on waiting for it; null: there is none.
    [[nodiscard]] operation* due(base::instant now) const noexcept
    {
        return static_cast<operation*>(sleepers_.due(now));
    }
    [[nodiscard]] base::instant next_wake_up() const noexcept
    {
        return sleepers_.empty() ? base::instant::max() : sleepers_.next();
    }

    /// The operation also waits for the first connections.
    void await_contact(operation& op) noexcept
    {
        op.is_newcomer = true;
        newcomers_.push_back(op);
    }
    void resume_newcomers() noexcept
    {
        while (!newcomers_.empty()) {
            resume(newcomers_.front());
        }
    }

private:
    operation_list under_way_;
    std::array<std::size_t, operation::kinds> by_kind_{};
    operation_queue ready_;
    operation_queue newcomers_;
    wake_ups sleepers_;
};

}  // namespace redlock::core
