#pragma once

#include <redlock/report.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

namespace redlock {

/// Value that means "no limit". In `acquire_options::max_attempts` it allows attempts until the
/// deadline. In `keep_alive::max_renewals` it allows any number of renewals.
inline constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();

/**
 * Options of a lock that the client keeps alive.
 *
 * A quarter to a third of the ttl after an acquire or a renewal, the client renews the lock in the
 * background. A renewal extends the keys for another whole ttl. If too few nodes answer, the client
 * tries again while validity is left.
 *
 * The client stops renewing a lock that is lost, released, dropped or detached. An adopted lock is
 * not renewed either: only an acquire starts to keep a lock alive.
 *
 * A holder that hangs would keep its lock for ever. The two limits below prevent that. Once one of
 * them is reached, the lock ends with the validity that it has.
 */
struct keep_alive {
    /// Maximum time that renewals keep the lock, counted from the start of the attempt that won it.
    /// A further hold of a reentrant owner counts from its own start. Empty, the default: no limit.
    /// At least the ttl. No renewal makes the validity end later than this. A key can live longer
    /// if a renewal was delayed on its way to the node.
    std::optional<std::chrono::milliseconds> max_hold{};

    /// Maximum number of renewals that succeed. No limit by default. Zero: the client never renews,
    /// and the lock ends with its ttl.
    std::uint32_t max_renewals = unlimited;
};

/// Outcome of a renewal, or other event of a lock that is kept alive.
enum class renewal_outcome : std::uint8_t {
    /// The keys live for another ttl.
    renewed,
    /// Too few nodes answered. The lock keeps its known validity, and the client tries again.
    unknown,
    /// No majority can have the key any more, or the validity has passed. This is final.
    lost,
    /// `max_hold` or `max_renewals` is reached. The lock is valid for `remaining`, and no longer.
    limit_reached,
};

/// Returns the English name of an outcome, for logs and messages.
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

/// Event of one lock that is kept alive, as a `renewal_sink` receives it.
struct renewal {
    /// Name of the resource. For a lock of several resources, the first name. Valid during the
    /// call.
    std::string_view resource;
    /// Outcome of the renewal, or another event.
    renewal_outcome outcome = renewal_outcome::renewed;
    /// Validity that is left at the time of the call. Zero when the lock is lost.
    std::chrono::nanoseconds remaining{};
    /// Answer of each node to the renewal that failed. Set when the outcome is `unknown`, or when
    /// that renewal made the lock `lost`. Valid during the call. Null in these cases:
    /// - The renewal succeeded.
    /// - The validity passed between two renewals. The last event with the outcome `unknown` says
    ///   why earlier renewals failed. Without such an event, the program or its machine was paused.
    /// - There was no memory for the report.
    const redlock::report* report = nullptr;
};

/**
 * Function that receives the events of locks that are kept alive.
 *
 * The client calls it on its own executor, one call at a time. With `config::thread_safe` that is
 * the client's strand. Other handlers come in this order:
 * - Handlers that waited for a loss come before the call. With `config::thread_safe` the client has
 *   posted them before the call.
 * - Handlers of other operations that ended in the meantime come after the call.
 *
 * If several events of one lock come at the same time, the function receives only the latest. It
 * always receives a loss, unless the client is closed.
 *
 * The function may use the client and its locks, and may destroy them. The client swallows its
 * exceptions, since an observer must not break a lock.
 */
using renewal_sink = std::function<void(const renewal&)>;

}  // namespace redlock
