#pragma once

#include "chaos/catalogue.hpp"
#include "chaos/fault.hpp"

#include <chrono>
#include <span>
#include <string_view>
#include <vector>

namespace redlock::chaos {

/// The demand on a run.
enum class demand {
    safety_and_progress,  ///< no beliefs overlap, no update is lost, and a healthy majority always
                          ///< serves
    safety_and_recovery,  ///< the same, but service may pause and must come back afterwards
    double_lease,         ///< beliefs overlap: the run fails unless it sees that
    lost_update,          ///< updates are lost, but no beliefs overlap
};

/// A set of faults and the demand on its run.
struct scenario {
    std::string_view name;
    std::string_view what;
    demand wanted{};
    unsigned most_impaired = 0;
    double pace = 1;        ///< how much more often than usual
    bool remembers = true;  ///< nodes write through
    bool guarded = false;   ///< clients have the restart guard
    bool heedless = false;  ///< clients do not ask whether they own a lock
    bool packets = false;   ///< some faults drop packets, if possible
    std::chrono::milliseconds ttl{1'000};
    std::chrono::milliseconds hold{20};
    /// The timeout of an acquire of a shared lock.
    std::chrono::milliseconds wait{2'000};
    /// How long a shared lock may be without a holder while a majority answers. A key of a client
    /// that was stopped or killed before it knew of its lock lives for two ttls of a second, and
    /// the next two clients may be stopped in the same way.
    std::chrono::milliseconds shared_patience{8'000};
    // Numbers of client processes, of workers in each, and of shared locks.
    unsigned clients = 4;
    unsigned workers = 8;
    unsigned resources = 3;
    std::vector<fault> (*faults)(const stage&) = nullptr;
};

[[nodiscard]] std::span<const scenario> scenarios();

/// Whether the run ends as soon as it sees the disease.
[[nodiscard]] constexpr bool is_disease(demand what) noexcept
{
    return what == demand::double_lease || what == demand::lost_update;
}

}  // namespace redlock::chaos
