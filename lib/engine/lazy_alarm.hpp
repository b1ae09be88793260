#pragma once

#include "base/instant.hpp"
#include "engine/environment.hpp"

#include <chrono>
#include <memory>
#include <new>
#include <utility>

namespace redlock::engine {

/// The alarm of a client. It is set again only for an earlier instant: an alarm for a deadline that
/// no longer matters fires early, and is set again then.
class lazy_alarm {
public:
    explicit lazy_alarm(std::unique_ptr<alarm> a) noexcept : alarm_(std::move(a)) {}

    /// Whether the alarm must be set, so that it fires by `when`.
    [[nodiscard]] bool is_late_for(base::instant when, base::instant now) const noexcept
    {
        return when < fires_at(now) - clock_noise;
    }
    /// Whether the alarm is set and due.
    [[nodiscard]] bool is_due(base::instant now) const noexcept { return fires_at(now) <= now; }

    /// Makes the alarm fire at `when`. If there is no memory for that, an earlier alarm fires in
    /// time, or the next event of the client sets the alarm again.
    void set(base::instant when, base::instant now,
             const std::shared_ptr<alarm_events>& whom) noexcept
    {
        try {
            alarm_->set(when - now, whom);
            is_set_ = true;
        } catch (const std::bad_alloc&) {
            return;
        }
    }
    /// Cancels the alarm, unless it is due: it may replace a turn that couldn't be posted.
    void cancel_unless_due(base::instant now) noexcept
    {
        if (is_set_ && !is_due(now)) {
            alarm_->cancel();
            is_set_ = false;
        }
    }
    void on_fired() noexcept { is_set_ = false; }
    /// The execution context is gone.
    void drop() noexcept
    {
        alarm_.reset();
        is_set_ = false;
    }

private:
    /// The largest difference between two clocks that are read one after the other. Such a
    /// difference isn't worth setting the alarm again.
    static constexpr base::nanos clock_noise = std::chrono::microseconds{100};

    /// The alarm is queried each time, because a suspend of the machine delays it.
    [[nodiscard]] base::instant fires_at(base::instant now) const noexcept
    {
        return is_set_ ? now + alarm_->left() : base::instant::max();
    }

    std::unique_ptr<alarm> alarm_;
    bool is_set_ = false;
};

}  // namespace redlock::engine
