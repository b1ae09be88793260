#pragma once

#include "core/handshake.hpp"

#include <redlock/clock.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::cli {

/// What is tried on a node, each by one command.
enum class needed : std::uint8_t {
    info,
    config_get,
    hello,
    command_info,
    client_setname,
    ping,
    time,
    set,
    get,
    getrange,
    pttl,
    pexpire,
    incr,
    del,
    script_load,
    evalsha,
    eval,
    native_delete,  ///< DELIFEQ or DELEX
    client_tracking,
    client_caching,
};
inline constexpr std::size_t needed_count = static_cast<std::size_t>(needed::client_caching) + 1;

/// How that went.
struct trial {
    enum class outcome : std::uint8_t {
        untried,
        went,
        forbidden,      ///< an ACL forbids the command
        forbidden_key,  ///< an ACL forbids the key
        unknown,        ///< the server has no such command
        refused,        ///< in other words, whatever state the server is in
        failed,         ///< it answered with another error
    };

    outcome is = outcome::untried;
    /// Of `refused` and `failed`: the server's text, cut and freed of secrets.
    std::string error{};

    [[nodiscard]] bool is_missing() const noexcept
    {
        return is == outcome::forbidden || is == outcome::unknown || is == outcome::refused;
    }
};

/// What INFO tells of a server.
struct server_facts {
    std::string product;  ///< "Redis", "Valkey"
    std::string version;
    std::string mode;    ///< "standalone", "cluster", "sentinel"
    std::string role;    ///< "master", "slave", or what else it says
    std::string master;  ///< of a replica: host and port
    std::string run_id;
    unsigned replicas = 0;
    std::chrono::seconds uptime{};
    bool loading = false;
    std::uint64_t used_memory = 0;
    /// 0: no bound; empty: the server gives no number.
    std::optional<std::uint64_t> max_memory = 0;
    std::string eviction;      ///< maxmemory_policy
    bool appends = false;      ///< aof_enabled
    bool writes_fail = false;  ///< the last write of the append-only file or the snapshot
};

/// Reads the answer to INFO; what is not there stays empty.
[[nodiscard]] server_facts read_info(std::string_view info);

/// What the clients have that a restart guard's marker is of, as `guard_text` says it. Empty: the
/// marker does not tell.
[[nodiscard]] std::string guard_of(std::string_view marker);

/// What the doctor's keys begin with, without the prefix. They are no lock's: `resource` and a name
/// of the doctor's own.
[[nodiscard]] std::string own_keys(const std::string& resource);

/// What is left of a server's acknowledged writes after it is killed.
enum class keeps : std::uint8_t {
    not_known,
    nothing,
    nothing_or_snapshots,  ///< no append-only file; CONFIG tells no more
    snapshots,
    by_and_by,            ///< appendfsync no
    all_but_a_second,     ///< appendfsync everysec
    appended,             ///< appendonly; CONFIG does not tell when it is on the disk
    all_but_in_rewrites,  ///< appendfsync always, and no-appendfsync-on-rewrite
    everything,           ///< appendfsync always
};

[[nodiscard]] const char* to_string(keeps k) noexcept;

/// How long pings took.
struct latency_facts {
    std::size_t samples = 0;
    std::chrono::nanoseconds median{};
    std::chrono::nanoseconds p99{};
    std::chrono::nanoseconds longest{};
};

/// A node's clock, as seen from this machine. True within the precision that is given.
struct clock_facts {
    /// Above zero: the node's date is ahead of ours.
    std::chrono::nanoseconds offset{};
    std::chrono::nanoseconds offset_precision{};
    /// By what share the node's clock gains on ours; below zero: it loses. Empty: not measured for
    /// long enough.
    std::optional<double> rate{};
    double rate_precision = 0;
    /// From the first to the last look at it.
    std::chrono::nanoseconds watched{};
};

/// What the restart guard's marker says of a node.
enum class admittance : std::uint8_t { not_guarded, admitted, not_admitted, other_configuration };

/// How far the questions came.
enum class contact : std::uint8_t {
    none,    ///< no connection; `trouble` says why
    broken,  ///< it was lost, or fell silent; `trouble` says how
    whole,
};

/// All that was learnt of one node.
struct node_facts {
    std::string node;  ///< its URL without user and password
    bool has_tls = false;
    bool is_durable = false;  ///< as its URL says
    /// The keys that were tried begin with it; empty: with the doctor's own name.
    std::string resource{};

    contact reached = contact::none;
    std::string trouble{};
    /// Whether it has answered any command.
    bool has_answered = false;
    /// The commands of the greeting that it left without an answer.
    std::string unanswered{};
    /// Why a client would not use it; empty: it would.
    std::string unusable{};
    bool login_refused = false;
    /// It closed the connection at HELLO, and was greeted without.
    bool closes_at_hello = false;
    /// It answers HELLO with something that is no greeting.
    bool answers_hello_oddly = false;
    /// "cluster" and "sentinel" where it says so, also without INFO.
    std::string mode{};
    /// "master", "slave", "replica", or what else it says; also without INFO.
    std::string role{};
    std::string run_id{};
    /// When its greeting was done and a client would begin to use it; the maximum: never.
    boot_clock::time_point ready_since = boot_clock::time_point::max();

    int protocol = 2;
    core::compare_and_delete deletes_by = core::compare_and_delete::script;
    admittance admitted = admittance::not_guarded;
    /// Of `other_configuration`: what theirs is; empty: the marker does not tell.
    std::string disagreement{};
    /// It has a marker, though this configuration has no guard: what the marker is of, as far as it
    /// tells.
    std::optional<std::string> guard_of_others{};

    std::optional<server_facts> info{};
    keeps kept = keeps::not_known;
    std::array<trial, needed_count> trials{};
    latency_facts latency{};
    std::optional<clock_facts> clock{};

    [[nodiscard]] bool is_replica() const noexcept { return role == "slave" || role == "replica"; }

    [[nodiscard]] trial& operator[](needed n) noexcept
    {
        return trials[static_cast<std::size_t>(n)];
    }
    [[nodiscard]] const trial& operator[](needed n) const noexcept
    {
        return trials[static_cast<std::size_t>(n)];
    }
};

}  // namespace redlock::cli
