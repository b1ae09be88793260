#pragma once

#include <redlock/report.hpp>

#include "core/lease.hpp"
#include "core/node/command.hpp"
#include "core/round.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::core {

/// A node's answer about the fencing counter of a round.
struct counter_answer {
    enum class kind : std::uint8_t {
        counted,   ///< the node granted the key, and its counter became `value`
        aligned,   ///< the counter was raised to `value`
        found,     ///< the counter is at `value`, and was not raised
        unknown,   ///< the counter may or may not have been raised, because of `why`
        unusable,  ///< the node has no vote, because of `why`
    };

    kind what;
    std::int64_t value = 0;
    std::string_view why{};
};

/// A message that a node sends without a question.
enum class notification : std::uint8_t {
    key_gone,       ///< a key was deleted or changed, or has expired
    all_keys_gone,  ///< the same of all keys
    none_to_come,   ///< the connection was lost, so no notification will come
};

/// A change of the connection to a node.
enum class connection_event : std::uint8_t {
    ready,        ///< the node may vote
    lost,         ///< the node was ready, or was being connected to
    unreachable,  ///< the node will not be ready before the next attempt to connect
};

/// Receives the reports of nodes about keys that waiters want.
class key_events {
public:
    /// The node will send a notification when the key goes that is in the way of `l`. `held`: among
    /// several resources, the number of the one in the way, from one; 0: the number is known.
    virtual void on_watched(const lease& l, unsigned node, unsigned held,
                            told_ttl told) noexcept = 0;
    virtual void on_notification(unsigned node, notification what,
                                 std::string_view resource) noexcept = 0;

protected:
    ~key_events() = default;
};

/// Receives all that waiters must know of keys and rounds.
class contention_events : public key_events {
public:
    /// A node has refused the attempt.
    virtual void on_refused(const round& attempt) noexcept = 0;
    /// A node has extended the keys of the lease.
    virtual void on_extended(const lease& l) noexcept = 0;

protected:
    ~contention_events() = default;
};

/// Receives the reports of nodes about rounds, keys that waiters want, and connections.
class round_events : public key_events {
public:
    /// The node has voted, or its vote has failed.
    virtual void on_vote(round& r, unsigned node, node_outcome outcome,
                         std::string_view error) noexcept = 0;
    /// The node has set or extended the keys. Its vote may still need a counter or a proof.
    virtual void on_keys_set(round& r) noexcept = 0;
    /// The node has answered about a fencing counter. `r` is the attempt if the answer is
    /// `counted`, otherwise the alignment. Only `counted` may throw.
    virtual void on_counter(round& r, unsigned node, const counter_answer& answer) = 0;
    /// Only `ready` may throw.
    virtual void on_connection(unsigned node, connection_event what) = 0;

protected:
    ~round_events() = default;
};

}  // namespace redlock::core
