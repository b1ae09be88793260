#pragma once

#include <redlock/report.hpp>

#include "core/lease.hpp"
#include "core/node/command.hpp"
#include "core/round.hpp"
#include "core/ticket.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::core {

/// A node's answer about the fencing counter of a round.
struct counter_answer {
    enum class kind : std::uint8_t {
        counted,   ///< The node granted the key, and its counter became `value`.
        aligned,   ///< The counter was aligned to `value`.
        found,     ///< The counter is at `value`, and was not aligned.
        unknown,   ///< The counter may or may not have been aligned, because of `why`.
        unusable,  ///< The node has no vote, because of `why`.
    };

    kind what;
    std::int64_t value = 0;
    std::string_view why{};
};

/// A message that a node sends without a request.
enum class notification : std::uint8_t {
    key_gone,       ///< A key was deleted or changed, or has expired.
    all_keys_gone,  ///< All keys may have gone.
    none_to_come,   ///< The connection was lost, so no notification will come.
};

/// A change of the connection to a node.
enum class connection_event : std::uint8_t {
    ready,        ///< The node may vote.
    lost,         ///< The connection has ended, or the attempt to connect has.
    unreachable,  ///< The node will not be ready before the next attempt to connect.
};

/// Receives the reports of nodes about queues, and about keys that waiters want.
class key_events {
public:
    /// The node has read the key that the acquire of `l` waits for. It will send a notification
    /// when the key ends, unless it has refused notifications. `ttl_ms`: the key's remaining ttl,
    /// as PTTL returns it.
    virtual void on_watched(const lease& l, unsigned node, std::int64_t ttl_ms) noexcept = 0;
    /// The node has sent a notification. `key`: the name of the key without the prefix.
    virtual void on_notification(unsigned node, notification what,
                                 std::string_view key) noexcept = 0;
    /// The node has answered the question for a place. `found` is only for `placed`.
    virtual void on_place(const lease& l, unsigned node, place_answer what,
                          const queue_place& found) noexcept = 0;
    /// The node has answered a `leave`. `member`: the number of the resource among several, from
    /// one.
    virtual void on_left(const lease& l, unsigned member, bool others_wait) noexcept = 0;

protected:
    ~key_events() = default;
};

/// Receives the votes of nodes.
class round_events {
public:
    /// The node has voted, or its vote has failed.
    virtual void on_vote(round& r, unsigned node, node_outcome outcome,
                         std::string_view error) noexcept = 0;
    /// The node has answered about a fencing counter. `r` is the attempt if the answer is
    /// `counted`, otherwise the alignment. Only `counted` may throw.
    virtual void on_counter(round& r, unsigned node, const counter_answer& answer) = 0;

protected:
    ~round_events() = default;
};

/// Receives changes of the connections to nodes.
class connection_events {
public:
    /// Only `ready` may throw.
    virtual void on_connection(unsigned node, connection_event what) = 0;

protected:
    ~connection_events() = default;
};

/// The receivers of a node's reports.
struct node_events {
    round_events& rounds;
    key_events& waiters;
    connection_events& connections;
};

}  // namespace redlock::core
