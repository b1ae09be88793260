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

/// The longest ttl, and what longer deadlines are cut to. Keeps every sum of an instant and a
/// duration in range.
inline constexpr std::chrono::milliseconds max_ttl = std::chrono::hours{24 * 365 * 10};

/// The longest of the configured timeouts and waits.
inline constexpr std::chrono::milliseconds max_timeout = std::chrono::hours{24};

/// The longest `config::key_prefix` and `config::client_name`, in bytes.
inline constexpr std::size_t max_prefix_size = 1024;

/// A ttl is at least so many node timeouts.
inline constexpr int node_timeouts_per_ttl = 4;

/// What a lock's validity loses whatever its ttl: servers count in whole milliseconds.
inline constexpr nanos fixed_drift = std::chrono::milliseconds{2};

/// Behind a resource, the name of its fencing counter. No resource ends with it.
inline constexpr std::string_view counter_suffix = ":fencing";
/// How the key beside a lock is called that holds the label of its holder.
inline constexpr std::string_view holder_suffix = ":redlock:holder";

/// The smallest number of nodes of which any two sets share a node.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t nodes) noexcept
{
    return nodes / 2 + 1;
}

/// The restart guard's keys, behind the prefix: the marker of an admitted node, and what stands
/// before a client's own in the name of the key that it leaves while it waits.
inline constexpr std::string_view marker_resource = "redlock:admitted";
inline constexpr std::string_view pending_resource = "redlock:pending:";

/// `guard_config`, checked and digested.
struct guard_settings {
    nanos max_ttl{};
    /// How long a node is out of votes from when it was seen to have lost its keys.
    nanos quarantine{};
    bool admit_new_nodes = false;
    /// What a marker says behind the run id: all that clients have to agree on.
    std::string fingerprint;
};

/// A configuration that has been checked, in the form the library works with. See `config` for each
/// meaning.
struct settings {
    std::vector<address> nodes;
    std::size_t quorum = 0;
    std::string key_prefix;
    std::string client_name;
    nanos node_timeout{};
    /// `config::drift_factor` in billionths, rounded up: integers give the same validity on every
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
    /// Those who are woken, or want what others were seen to want, ask one node first. Off only
    /// where that is to be compared.
    bool asks_one_first = true;
    nanos max_poll_interval{};
    nanos close_timeout{};
    bool fencing = false;
    nanos counter_ttl{};
    /// How far beyond a node's own time its counters may be.
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

    /// What clocks may take from a lock of `ttl`, rounded up. `ttl` is from 0 to `max_ttl`, here
    /// and below.
    [[nodiscard]] nanos drift(nanos ttl) const noexcept;

    /// How long a lock of `ttl` is valid, counted from before its first byte was queued. May be
    /// negative.
    [[nodiscard]] nanos validity(nanos ttl) const noexcept { return ttl - drift(ttl); }

    /// The first instant at which a lock asked for at `t0` is no longer valid.
    [[nodiscard]] instant validity_end(instant t0, nanos ttl) const noexcept
    {
        return t0 + validity(ttl);
    }
};

/// Whether this build of the library can speak TLS.
enum class tls_support { absent, present };

#if defined(REDLOCK_HAS_TLS) && REDLOCK_HAS_TLS
inline constexpr tls_support built_with_tls = tls_support::present;
#else
inline constexpr tls_support built_with_tls = tls_support::absent;
#endif

/**
 * Checks and digests a configuration.
 *
 * @throws boost::system::system_error with `errc::invalid_config`; its text begins with the field's
 * name, as in "config::nodes[1]: ...", and holds no value of the configuration.
 */
[[nodiscard]] settings make_settings(const config& c, tls_support tls = built_with_tls);

/// The fault of a resource's name, in words that follow the name; null if there is none.
[[nodiscard]] const char* fault_of_resource(const settings& s, std::string_view resource) noexcept;

/// The same of a label.
[[nodiscard]] const char* fault_of_label(std::string_view label) noexcept;

/// The fault of a ttl, in words that follow the ttl, and the limit that it breaks.
struct ttl_fault {
    const char* why;
    std::chrono::milliseconds limit;
};
[[nodiscard]] std::optional<ttl_fault> fault_of_ttl(const settings& s,
                                                    std::chrono::milliseconds ttl) noexcept;

/// `errc::invalid_resource` for a name that is empty, longer than `max_resource_size`, ends with
/// `counter_suffix`, or is the restart guard's.
[[nodiscard]] error_code validate_resource(const settings& s, std::string_view resource) noexcept;

/// The fault of resources that are locked as one, in a text for their user.
struct resources_fault {
    errc code;
    std::string why;
};
[[nodiscard]] std::optional<resources_fault> fault_of_resources(
    const settings& s, std::span<const std::string> resources);

/// The code of that fault.
[[nodiscard]] error_code validate_resources(const settings& s,
                                            std::span<const std::string> resources);

/// `errc::invalid_ttl` for a ttl below four node timeouts, above `max_ttl` or that of the restart
/// guard, or eaten up by its drift.
[[nodiscard]] error_code validate_ttl(const settings& s, std::chrono::milliseconds ttl) noexcept;

/// The first of the `errc::invalid_*` codes that applies to an acquire, in the order of its
/// arguments; else success.
[[nodiscard]] error_code validate(const settings& s, std::string_view resource,
                                  const acquire_options& options) noexcept;

/// What of that is about the options.
[[nodiscard]] error_code validate_options(const settings& s,
                                          const acquire_options& options) noexcept;

/// A valid `acquire_options::timeout` as a span that can be added to any instant: at most
/// `max_ttl`.
[[nodiscard]] nanos deadline_span(std::chrono::milliseconds deadline) noexcept;

}  // namespace redlock::base
