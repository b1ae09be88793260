#pragma once

#include <redlock/detail/export.hpp>
#include <redlock/log.hpp>
#include <redlock/report.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace redlock {

/// The longest resource name, in bytes. A name may hold any bytes, NUL and line ends too.
inline constexpr std::size_t max_resource_size = 64 * 1024;

/// The most nodes a client takes.
inline constexpr std::size_t max_nodes = 32;

/// For `acquire_options::attempts`: as many as fit before the deadline.
inline constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();

/// How to prove who the other side is, for nodes given as `rediss://`. File names; empty means
/// none.
struct tls_config {
    /// Certificates to trust, PEM. Empty: the system's.
    std::string ca_file{};
    /// The client's own certificate chain and key, PEM. Both or neither.
    std::string certificate_file{};
    std::string key_file{};
    /// The name to ask for (SNI) and to find in the certificate. Empty: the host of the node's URL.
    std::string server_name{};
    /// Connects to a server that proves nothing. For experiments; said aloud in the log.
    bool insecure_skip_verification = false;
};

/**
 * How a client finds its nodes and how patient it is with them. Validated once, when the client is
 * made:
 * a value that makes no sense throws `boost::system::system_error` with `errc::invalid_config`, its
 * text naming the field. No timeout or wait may be longer than 24 hours.
 */
struct config {
    /**
     * The masters, 1 to 32 of them, independent of each other; a majority of all listed is needed.
     * `redis://[user[:password]@]host[:port][/db]`, `rediss://...` for TLS, `unix:///path[?db=n]`;
     * IPv6 in brackets, percent-encoding where a character has a meaning. Two addresses of one
     * server are refused, as far as their text tells, whatever their databases. Names are looked
     * up in turn, in the one thread that an execution context has for it: where a name server may
     * hang, IP addresses are safer.
     */
    std::vector<std::string> nodes{};

    /// Put before every resource to make the key, at most 1 KiB. Empty: the resource is the key, as
    /// other clients write it.
    std::string key_prefix{};

    /// The name connections give themselves at the server (CLIENT LIST): printable, without spaces.
    /// Empty: none.
    std::string client_name = "redlock";

    /// How long one node may take to answer one command. Positive, and at most a quarter of every
    /// ttl used.
    std::chrono::milliseconds node_timeout{50};

    /// How far node clocks may run apart, as a share of the ttl: 0 to below 1. The paper's
    /// allowance is 1 %.
    double drift_factor = 0.01;

    /// From the look-up of a name to a connection that is usable. Positive.
    std::chrono::milliseconds connect_timeout{2000};

    /// Waits between attempts to connect: the first at least, and the longest. Random in between.
    /// Positive.
    std::chrono::milliseconds reconnect_min{10};
    std::chrono::milliseconds reconnect_max{2000};

    /// A connection that leaves a command unanswered for so long is closed and made anew. At least
    /// `node_timeout`.
    std::chrono::milliseconds stall_timeout{2000};

    /// After so long without a reply a connection is asked whether it lives. Zero: never asked.
    std::chrono::milliseconds ping_interval{5000};

    /// Waits between two attempts of one acquire: full jitter below a bound that starts here and
    /// doubles up to the second.
    /// Zero for both: no wait at all.
    std::chrono::milliseconds retry_min{5};
    std::chrono::milliseconds retry_max{250};

    /// How long `async_close` waits for releases that are still going out. Zero: not at all.
    std::chrono::milliseconds close_timeout{500};

    /// Operations begun and not completed; one more completes with `errc::overloaded`. At least 1.
    std::size_t max_in_flight = 1'000'000;

    /// Bytes queued for one node and not yet written; a node that is full counts as stalled. At
    /// least 1 MiB.
    std::size_t max_buffered_bytes = 64 * 1024 * 1024;

    /// Releases owed to one node: while it is away, and of keys that may come to life yet. The
    /// oldest are given up first (their keys expire). Zero: none are owed.
    std::size_t max_debts = 100'000;

    /// For the `rediss://` nodes.
    tls_config tls{};

    /// Puts a strand round the client, so that any thread may call it and its locks at any time.
    bool thread_safe = false;

    /// Where log lines go. Empty: nowhere.
    log_sink log{};
};

/// What one acquire wants.
struct acquire_options {
    /// How long the lock lives unless extended. At least four times `config::node_timeout`, at most
    /// 10 years.
    std::chrono::milliseconds ttl{10'000};

    /// How long to go on trying. Zero: one attempt, no waiting. Never negative.
    std::chrono::milliseconds deadline{10'000};

    /// How many attempts at most. At least 1.
    std::uint32_t attempts = unlimited;

    /// A lock with less validity left than this, when it is had, is given back. Zero: any validity
    /// above zero will do.
    std::chrono::milliseconds min_validity{0};

    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;
};

/// What one extend wants.
struct extend_options {
    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;
};

/// What one release wants.
struct release_options {
    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;
};

/// What one inspect wants.
struct inspect_options {
    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;
};

}  // namespace redlock
