#pragma once

#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include "base/address.hpp"
#include "base/instant.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::base {

/// The longest ttl, and the upper limit for timeouts of operations. It keeps every sum of an
/// instant and a duration in range.
inline constexpr std::chrono::milliseconds max_ttl = std::chrono::hours{24 * 365 * 10};

/// The longest of the configured timeouts and waits.
inline constexpr std::chrono::milliseconds max_timeout = std::chrono::hours{24};

/// The longest `config::key_prefix` and `config::client_name`, in bytes.
inline constexpr std::size_t max_prefix_size = 1024;

/// The smallest ttl, in node timeouts.
inline constexpr int node_timeouts_per_ttl = 4;

/// The fixed part by which a lock's validity is shorter than its ttl: servers count in whole
/// milliseconds.
inline constexpr nanos fixed_drift = std::chrono::milliseconds{2};

/// The suffix of a resource that names its fencing counter. No resource may end with it.
inline constexpr std::string_view counter_suffix = ":fencing";
/// The suffix of a resource that names the key with the holder's label.
inline constexpr std::string_view holder_suffix = ":redlock:holder";
/// The suffix of a resource that names the queue of the clients that wait for it.
inline constexpr std::string_view queue_suffix = ":redlock:queue";
/// The suffix of the key of one ticket in that queue. The resource, a colon and the ticket come
/// before it.
inline constexpr std::string_view ticket_suffix = ":redlock:ticket";

/// The smallest size at which any two sets of nodes share a node.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t nodes) noexcept
{
    return nodes / 2 + 1;
}

/// The keys of the restart guard, after the key prefix: the marker of an admitted node, and the
/// start of a pending key's name. A client leaves a pending key on a node while it waits.
inline constexpr std::string_view marker_resource = "redlock:admitted";
inline constexpr std::string_view pending_resource = "redlock:pending:";

/// The restart guard's configuration in checked form.
struct guard_settings {
    nanos max_ttl{};
    /// How long a node has no vote after the client saw that the node had lost its keys.
    nanos quarantine{};
    bool admit_new_nodes = false;
    /// The text after the run id in a marker: the values that must be the same for all clients.
    std::string fingerprint;
};

/// A checked configuration, in the form that the library uses. See `config` for the meaning of each
/// field.
struct settings {
    std::vector<address> nodes;
    std::size_t quorum = 0;
    std::string key_prefix;
    std::string client_name;
    nanos node_timeout{};
    /// `config::drift_factor` in billionths, rounded up. Integers give the same validity on every
    /// machine.
    std::int64_t drift_ppb = 0;
    nanos connect_timeout{};
    nanos reconnect_backoff_min{};
    nanos reconnect_backoff_max{};
    nanos stall_timeout{};
    nanos ping_interval{};
    nanos backoff_min{};
    nanos backoff_max{};
    std::function<nanos(std::uint32_t, nanos)> backoff;
    bool release_notifications = false;
    bool fair_queue = false;
    nanos max_poll_interval{};
    nanos close_timeout{};
    bool fencing = false;
    nanos counter_ttl{};
    /// How far a counter may be ahead of the node's own time.
    nanos counter_slack{};
    std::size_t max_in_flight = 0;
    std::size_t max_waiters = 0;
    std::size_t max_waiters_per_resource = 0;
    std::size_t max_buffered_bytes = 0;
    std::size_t max_pending_releases = 0;
    std::optional<guard_settings> guard;
    credentials_provider credentials;
    tls_config tls;
    bool thread_safe = false;
    log_sink log;
    renewal_sink on_renewal;

    /// The largest effect of clock drift on a lock of `ttl`, rounded up. Here and below, `ttl` must
    /// be from 0 to `max_ttl`.
    [[nodiscard]] nanos drift(nanos ttl) const noexcept;

    /// How long a lock of `ttl` is valid, counted from before its first byte was queued. May be
    /// negative.
    [[nodiscard]] nanos validity(nanos ttl) const noexcept { return ttl - drift(ttl); }

    /// The first instant at which a lock that was requested at `t0` is no longer valid.
    [[nodiscard]] instant validity_end(instant t0, nanos ttl) const noexcept
    {
        return t0 + validity(ttl);
    }
};

/// Whether this build of the library supports TLS.
enum class tls_support { absent, present };

#if defined(REDLOCK_HAS_TLS) && REDLOCK_HAS_TLS
inline constexpr tls_support built_with_tls = tls_support::present;
#else
inline constexpr tls_support built_with_tls = tls_support::absent;
#endif

/**
 * Checks a configuration and converts it.
 *
 * @throws boost::system::system_error with `errc::invalid_config`. Its text begins with the field's
 * name, as in "config::nodes[1]: ...", and contains no value of the configuration.
 */
[[nodiscard]] settings make_settings(const config& c, tls_support tls = built_with_tls);

/// The fault of a resource's name, in words that follow the name. Null if the name is valid.
[[nodiscard]] const char* fault_of_resource(const settings& s, std::string_view resource) noexcept;

/// The fault of a label, in words that follow the label. Null if the label is valid.
[[nodiscard]] const char* fault_of_label(std::string_view label) noexcept;

/// The fault of a ttl, in words that follow the ttl, and the limit that the ttl violates.
struct ttl_fault {
    const char* why;
    std::chrono::milliseconds limit;
};
[[nodiscard]] std::optional<ttl_fault> fault_of_ttl(const settings& s,
                                                    std::chrono::milliseconds ttl) noexcept;

/// Returns `errc::invalid_resource` if the name is empty, is longer than `max_resource_size`, has
/// the suffix of a key beside a lock, or belongs to the restart guard.
[[nodiscard]] error_code validate_resource(const settings& s, std::string_view resource) noexcept;

/// The fault of resources that are locked as one, in a text for the user.
struct resources_fault {
    errc code;
    std::string why;
};
[[nodiscard]] std::optional<resources_fault> fault_of_resources(
    const settings& s, std::span<const std::string> resources);

/// The code of the fault that `fault_of_resources` finds.
[[nodiscard]] error_code validate_resources(const settings& s,
                                            std::span<const std::string> resources);

/// Returns `errc::invalid_ttl` if the ttl is below four node timeouts, above `max_ttl` or the
/// restart guard's maximum, or no longer than its drift.
[[nodiscard]] error_code validate_ttl(const settings& s, std::chrono::milliseconds ttl) noexcept;

/// Returns the first `errc::invalid_*` code that applies to the options of an acquire. Success if
/// none applies.
[[nodiscard]] error_code validate_options(const settings& s,
                                          const acquire_options& options) noexcept;

/// Converts a valid `acquire_options::timeout` to a duration that can be added to any instant. At
/// most `max_ttl`.
[[nodiscard]] nanos deadline_span(std::chrono::milliseconds deadline) noexcept;

}  // namespace redlock::base
