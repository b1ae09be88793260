#pragma once

#include "chaos/clock_page.hpp"
#include "chaos/mapped.hpp"

#include <chrono>
#include <filesystem>

namespace redlock::chaos {

/// The director's control of one server's wall clock. See clock_page.hpp.
class clock_dial {
public:
    static constexpr std::chrono::nanoseconds no_limit = std::chrono::nanoseconds::max();

    explicit clock_dial(const std::filesystem::path& path) : page_(path) {}

    /// Sets the clock forward or back.
    void step(std::chrono::nanoseconds by) { set(by, page_->faster, page_->farthest); }

    /// Makes the clock run faster or slower from now on, without a step, until its error reaches
    /// `farthest`.
    void run_faster(std::int64_t millionths, std::chrono::nanoseconds farthest = no_limit)
    {
        set(std::chrono::nanoseconds(0), millionths, farthest.count());
    }

    /// How much the clock is ahead of the right time now.
    [[nodiscard]] std::chrono::nanoseconds ahead() const
    {
        return std::chrono::nanoseconds(page_->ahead_at(monotonic_now()));
    }

private:
    static std::int64_t monotonic_now()
    {
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }

    void set(std::chrono::nanoseconds step, std::int64_t faster, std::int64_t farthest)
    {
        const auto monotonic = monotonic_now();
        const auto ahead = page_->ahead_at(monotonic) + step.count();
        ++page_->version;
        page_->since = monotonic;
        page_->ahead = ahead;
        page_->faster = faster;
        page_->farthest = farthest;
        ++page_->version;
    }

    mapped<clock_page> page_;
};

}  // namespace redlock::chaos
