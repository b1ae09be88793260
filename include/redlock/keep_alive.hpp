#pragma once

#include <redlock/report.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

namespace redlock {

/// For `acquire_options::attempts`: as many as fit before the deadline. For
/// `keep_alive::max_renewals`: no limit.
inline constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();

/**
 * A lock that is kept alive: a quarter to a third of its ttl after it was had or renewed, its keys
 * are extended for another whole ttl, in the background. What too few nodes answered is tried again
 * while validity is left. A lock that is lost, released, dropped or handed over is renewed no more,
 * nor by whoever adopts it: only an acquire begins to keep a lock alive.
 *
 * The two limits are there for a holder that hangs, and would keep its lock for ever. Once one is
 * reached the lock ends with the validity that it has.
 */
struct keep_alive {
    /// By what renewals do no validity ends later than this, counted from the start of the acquire
    /// that was won, and a key later only by what a renewal was held up on its way. At least the
    /// ttl. Empty: no limit.
    std::optional<std::chrono::milliseconds> max_hold{};

    /// So many renewals that succeed. Zero: none, the lock ends with its ttl.
    std::uint32_t max_renewals = unlimited;
};

/// How a renewal, or a lock that is kept alive, went.
enum class renewal_outcome : std::uint8_t {
    renewed,        ///< its keys live for another ttl
    unknown,        ///< too few nodes answered; the validity known before stands, it is tried again
    lost,           ///< a majority is without the key, or the validity has passed: final
    limit_reached,  ///< `max_hold` or `max_renewals`: valid for `remaining`, and no longer
};

/// The English name of an outcome, for logs and messages.
[[nodiscard]] constexpr const char* to_string(renewal_outcome o) noexcept
{
    switch (o) {
        case renewal_outcome::renewed: return "renewed";
        case renewal_outcome::unknown: return "unknown";
        case renewal_outcome::lost: return "lost";
        case renewal_outcome::limit_reached: return "limit reached";
    }
    return "?";
}

/// News of one lock that is kept alive.
struct renewal {
    /// Of several the first. Valid during the call.
    std::string_view resource;
    /// What became of it.
    renewal_outcome outcome = renewal_outcome::renewed;
    /// How long it is valid from now on; zero when it is lost.
    std::chrono::nanoseconds remaining{};
    /// What each node answered to the renewal that failed: set when the outcome is `unknown`, or
    /// `lost` by that renewal. Null after a success, when the validity passed without an answer,
    /// and where memory ran out. Valid during the call.
    const redlock::report* report = nullptr;
};

/**
 * Where the news of locks that are kept alive go.
 *
 * Called on the client's executor (with `config::thread_safe` on its strand), one call at a time,
 * behind the handlers of those who waited for a loss (with `config::thread_safe` behind their being
 * posted), and before those of other operations that ended in the meantime. Of news of one lock
 * that come at the same time only the latest is told; a loss always is, unless the client is
 * closed. It may use the client and its locks, and destroy them. What it throws is swallowed: who
 * looks on must not break a lock.
 */
using renewal_sink = std::function<void(const renewal&)>;

}  // namespace redlock
