#pragma once

#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "core/operation.hpp"
#include "core/pool.hpp"
#include "core/timer_heap.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// The shortest wait that is worth a timer. If less time is left, no attempt fits into it.
inline constexpr base::nanos least_wait = std::chrono::milliseconds{1};

/// The operations of a client. Knows which operations can go on, and which wait for an instant or
/// for a connection.
class scheduler {
public:
    /// A new operation, which is under way. May throw `std::bad_alloc`.
    [[nodiscard]] operation& begin(operation::kind what, report* r);
    /// Takes back the record of the operation, to use it again.
    void end(operation& op) noexcept
    {
        --by_kind_[static_cast<std::size_t>(op.what)];
        under_way_.remove(op);
        records_.give(op);
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
    void set_timer(operation& op, base::instant when) { sleepers_.set(op, when); }
    /// Does nothing if the operation waits for no instant.
    void cancel_timer(operation& op) noexcept { sleepers_.remove(op); }
    /// An operation whose instant has come; null: there is none. Its timer stays set.
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
    /// Resumes the operations that wait for the first connections.
    void resume_newcomers() noexcept
    {
        while (!newcomers_.empty()) {
            resume(newcomers_.front());
        }
    }

    /// The operation has ended. The engine must still complete it.
    void finish(operation& op) noexcept { finished_.push_back(op); }
    /// The same for a wait whose loss has come. The engine completes it before all other
    /// operations.
    void finish_loss(operation& op) noexcept { losses_.push_back(op); }
    /// The next operation to complete; null: there is none.
    [[nodiscard]] operation* next_finished() noexcept
    {
        return losses_.empty() ? finished_.pop_front() : losses_.pop_front();
    }
    [[nodiscard]] std::size_t finished() const noexcept { return losses() + finished_.size(); }
    [[nodiscard]] std::size_t losses() const noexcept { return losses_.size(); }

private:
    pool<operation> records_;
    std::uint64_t serials_ = 0;
    operation_list under_way_;
    std::array<std::size_t, operation::kinds> by_kind_{};
    operation_queue ready_;
    operation_queue newcomers_;
    operation_queue finished_;
    operation_queue losses_;
    timer_heap sleepers_;
};

}  // namespace redlock::core
