#pragma once

#include "chaos/clock_page.hpp"
#include "chaos/mapped.hpp"

#include <chrono>
#include <filesystem>

namespace redlock::chaos {

/// The director's hand on one server's wall clock. See clock_page.hpp.
class clock_dial {
public:
    explicit clock_dial(const std::filesystem::path& path) : page_(path) {}

    /// Sets the clock forward or back.
    void step(std::chrono::nanoseconds by) { set(by, faster()); }

    /// Lets it run faster or slower from now on, without a step.
    void run_faster(std::int64_t millionths) { set(std::chrono::nanoseconds(0), millionths); }

    [[nodiscard]] std::int64_t faster() const { return page_->faster.load(); }

    /// How much it is ahead of the right time now.
    [[nodiscard]] std::chrono::nanoseconds ahead() const
    {
        return std::chrono::nanoseconds(page_->ahead_at(monotonic_now()));
    }

private:
    static std::int64_t monotonic_now()
    {
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }

    void set(std::chrono::nanoseconds step, std::int64_t faster)
    {
        const auto monotonic = monotonic_now();
        const auto ahead = page_->ahead_at(monotonic) + step.count();
        ++page_->version;
        page_->since = monotonic;
        page_->ahead = ahead;
        page_->faster = faster;
        ++page_->version;
    }

    mapped<clock_page> page_;
};

}  // namespace redlock::chaos
