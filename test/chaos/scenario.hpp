#pragma once

#include "chaos/catalogue.hpp"
#include "chaos/fault.hpp"

#include <chrono>
#include <span>
#include <string_view>
#include <vector>

namespace redlock::chaos {

/// What a run has to show.
enum class demand {
    safety_and_progress,  ///< no two believe, no update is lost, a healthy majority always serves
    safety_and_recovery,  ///< the same, but service may pause, and has to come back afterwards
    double_lease,         ///< two believe: the run fails where they are not seen to
    lost_update,          ///< updates are lost, and still no two believe
};

/// A way for things to go wrong, and what has to come of it.
struct scenario {
    std::string_view name;
    std::string_view what;
    demand wanted{};
    unsigned most_impaired = 0;
    double pace = 1;        ///< how much more often than usual
    bool remembers = true;  ///< masters write through
    bool guarded = false;   ///< clients have the restart guard
    bool heedless = false;  ///< clients do not ask whether they own a lock
    bool packets = false;   ///< some faults lose packets, where that is possible
    std::chrono::milliseconds ttl{1'000};
    std::chrono::milliseconds hold{20};
    std::vector<fault> (*faults)(const stage&) = nullptr;
};

[[nodiscard]] std::span<const scenario> scenarios();

/// Whether it is to end as soon as the disease is seen.
[[nodiscard]] constexpr bool is_disease(demand what) noexcept
{
    return what == demand::double_lease || what == demand::lost_update;
}

}  // namespace redlock::chaos
