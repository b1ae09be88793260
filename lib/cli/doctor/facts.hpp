#pragma once

#include "core/node/handshake.hpp"

#include <redlock/clock.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::cli {

/// The things that the doctor tries on a node, each with one command.
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
    // For the queue of waiting clients, which no lock needs.
    queue,  ///< its scripts
    // The commands that only the queue needs. The doctor tries them, inside a script, unless the
    // node carried out the scripts of the queue.
    zadd,
    zcard,
    zrange,
    zrank,
    zrem,
};
inline constexpr std::size_t needed_count = static_cast<std::size_t>(needed::zrem) + 1;

/// The outcome of one thing that the doctor tried.
struct trial {
    enum class outcome : std::uint8_t {
        untried,
        went,
        forbidden,      ///< an ACL forbids the command
        forbidden_key,  ///< an ACL forbids the key
        unknown,        ///< the server has no such command
        refused,        ///< with another error, whatever the server's state
        failed,         ///< with an error that depends on the server's state or data
    };

    outcome is = outcome::untried;
    /// The server's text for `refused` and `failed`, shortened and without secrets.
    std::string error{};
    /// The server carried the command out inside a script, and refused it outside with `error`.
    bool only_in_scripts = false;

    [[nodiscard]] bool is_missing() const noexcept
    {
        return is == outcome::forbidden || is == outcome::unknown || is == outcome::refused;
    }
};

/// The doctor's findings at the keys of the named resource. It wrote none of them.
struct resource_facts {
    /// Whether the node's answers show which keys the user may use.
    bool is_known = false;
    bool forbids_lock = false;
    bool forbids_counter = false;
    bool forbids_label = false;
    bool forbids_queue = false;
    bool forbids_ticket = false;
    /// The lock's key has another type than a lock has.
    bool is_foreign = false;
    /// The queue's key has another type than a queue has.
    bool has_foreign_queue = false;
    /// The lock's key has no ttl.
    bool is_endless = false;
    /// The fault of the fencing counter, after its name. Empty: there is none.
    std::string counter_fault{};
    /// The fault of the holder's label, after the name of its key. Empty: there is none.
    std::string label_fault{};
};

/// The fields of a server's INFO.
struct server_facts {
    std::string product;  ///< "Redis", "Valkey"
    std::string version;
    std::string mode;    ///< "standalone", "cluster", "sentinel"
    std::string role;    ///< "master", "slave", or another word of the server
    std::string master;  ///< only for a replica: host and port
    std::string run_id;
    /// Empty if the server reports no number.
    std::optional<std::uint64_t> replicas = 0;
    std::chrono::seconds uptime{};
    /// The value of `loading`. Empty if it is 0 or missing.
    std::string loading{};
    std::uint64_t used_memory = 0;
    /// 0 means no limit. Empty if the server reports no number.
    std::optional<std::uint64_t> max_memory = 0;
    std::string eviction;  ///< maxmemory_policy
    bool appends = false;  ///< aof_enabled
    /// The field that says how the last write of the append-only file or the snapshot ended, with
    /// its value: "aof_last_write_status:err". Empty if each says "ok" or is missing.
    std::string failed_write{};
};

/// Parses the reply to INFO. Missing fields stay empty.
[[nodiscard]] server_facts read_info(std::string_view info);

/// The guard configuration in a restart guard's marker, in the form of `guard_text`. Empty if the
/// marker doesn't contain it.
[[nodiscard]] std::string guard_of(std::string_view marker);

/// The beginning of the doctor's keys, without the key prefix: `resource` and a name of the
/// doctor's own. No lock uses such a key.
[[nodiscard]] std::string own_keys(const std::string& resource);

/// The part of a server's acknowledged writes that survives if the server is killed.
enum class keeps : std::uint8_t {
    not_known,
    nothing,
    nothing_or_snapshots,  ///< no append-only file; CONFIG doesn't say whether there are snapshots
    snapshots,
    by_and_by,            ///< appendfsync no
    all_but_a_second,     ///< appendfsync everysec
    appended,             ///< appendonly; CONFIG doesn't say when the server syncs
    all_but_in_rewrites,  ///< appendfsync always, and no-appendfsync-on-rewrite
    everything,           ///< appendfsync always
};

[[nodiscard]] const char* to_string(keeps k) noexcept;

/// The round-trip times of the pings.
struct latency_facts {
    std::size_t samples = 0;
    std::chrono::nanoseconds median{};
    std::chrono::nanoseconds p99{};
    std::chrono::nanoseconds longest{};
};

/// A node's clock relative to this machine's. Each value is true within its precision.
struct clock_facts {
    /// Above zero if the node's date is ahead of ours.
    std::chrono::nanoseconds offset{};
    std::chrono::nanoseconds offset_precision{};
    /// The share by which the node's clock gains on ours. Below zero if the node's clock loses.
    /// Empty if there was too little time to measure it.
    std::optional<double> rate{};
    double rate_precision = 0;
    /// The time from the first sample to the last.
    std::chrono::nanoseconds watched{};
};

/// The restart guard's state of a node, as its marker says.
enum class admittance : std::uint8_t { not_guarded, admitted, not_admitted, other_configuration };

/// How far the examination got.
enum class contact : std::uint8_t {
    none,    ///< no connection; `trouble` says why
    broken,  ///< the connection was lost, or the node stopped answering; `trouble` says how
    whole,
};

/// Everything that the doctor learnt about one node.
struct node_facts {
    std::string node;  ///< its URL without user and password
    bool has_tls = false;
    bool is_durable = false;  ///< as its URL states
    contact reached = contact::none;
    /// The resource that the user named. Its name begins the keys that the doctor tried. If empty,
    /// the doctor used a name of its own.
    std::string resource{};
    /// Only for a named resource.
    resource_facts of_resource{};

    std::string trouble{};
    /// Whether the node has answered any command.
    bool has_answered = false;
    /// The commands of the greeting that the node left unanswered.
    std::string unanswered{};
    /// Why a client would not use the node. Empty if a client would.
    std::string unusable{};
    bool login_refused = false;
    /// The node closed the connection at HELLO, so the doctor greeted it without HELLO.
    bool closes_at_hello = false;
    /// The node's answer to HELLO is no greeting.
    bool answers_hello_oddly = false;
    /// "cluster" or "sentinel" if the node says so. Known even without INFO.
    std::string mode{};
    /// "master", "slave", "replica", or another word of the node. Known even without INFO.
    std::string role{};
    std::string run_id{};
    /// When the greeting ended, which is when a client would start to use the node. The maximum
    /// means never.
    boot_clock::time_point ready_since = boot_clock::time_point::max();

    int protocol = 2;
    core::compare_and_delete deletes_by = core::compare_and_delete::script;
    admittance admitted = admittance::not_guarded;
    /// The other clients' guard configuration if `admitted` is `other_configuration`. Empty if the
    /// marker doesn't contain it.
    std::string disagreement{};
    /// Set if the node has a marker though this configuration has no guard. It holds the guard
    /// configuration in that marker, as far as the marker contains it.
    std::optional<std::string> guard_of_others{};

    std::optional<server_facts> info{};
    keeps kept = keeps::not_known;
    std::array<trial, needed_count> trials{};
    latency_facts latency{};
    std::optional<clock_facts> clock{};

    [[nodiscard]] bool is_replica() const noexcept { return role == "slave" || role == "replica"; }

    /// Whether the node carries out the command. A server checks the command before its keys, so
    /// if only the doctor's own key was forbidden, the command is permitted with the resource's.
    [[nodiscard]] bool permits(needed n) const noexcept
    {
        const trial::outcome is = (*this)[n].is;
        return is == trial::outcome::went || (is == trial::outcome::forbidden_key &&
                                              of_resource.is_known && !of_resource.forbids_lock);
    }

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
