#pragma once

#include <redlock/report.hpp>

#include "core/command.hpp"
#include "core/lease.hpp"
#include "core/round.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::core {

/// What a node said about the fencing counter of a round.
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

/// What a node notified the client of without a question.
enum class notification : std::uint8_t {
    key_gone,       ///< a key was deleted, changed or has expired
    all_keys_gone,  ///< all of them were, or may have been
    none_to_come,   ///< the connection was lost
};

/// What has happened to the connection of a node.
enum class connection_event : std::uint8_t {
    ready,        ///< the node may vote
    lost,         ///< the node was ready, or was being connected to
    unreachable,  ///< it will not be ready before another attempt to connect
};

/// What nodes tell: about rounds, about keys that are waited for, and about themselves.
class round_events {
public:
    /// The node has voted, or will not.
    virtual void on_vote(round& r, unsigned node, node_outcome outcome,
                         std::string_view error) noexcept = 0;
    /// The node has set or extended the keys. What its vote still needs may have to be asked for.
    virtual void on_keys_set(round& r) = 0;
    virtual void on_counter(round& r, unsigned node, const counter_answer& answer) = 0;
    /// The node will notify the client when the key in the way of `l` goes. `held`: of several
    /// resources the one that is in the way, counted from one; 0: the one that is known.
    virtual void on_watched(const lease& l, unsigned node, unsigned held,
                            told_ttl told) noexcept = 0;
    virtual void on_notification(unsigned node, notification what,
                                 std::string_view resource) noexcept = 0;
    virtual void on_connection(unsigned node, connection_event what) = 0;

protected:
    ~round_events() = default;
};

}  // namespace redlock::core
