#pragma once

#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/trouble.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace redlock::core {

/// The state of the connection to a node.
enum class connection_state : std::uint8_t {
    idle,         ///< The client has not begun to connect, or was stopped.
    waiting,      ///< The client waits until the next attempt to connect.
    connecting,   ///< The engine connects.
    handshaking,  ///< The handshake is under way, and the node has no votes yet.
    ready,        ///< The node may vote.
};

/// The data that the parts of one node share.
struct node_state {
    node_state(node_context& context, node_events receivers, unsigned number,
               const base::address& at)
        : shared(context),
          events(receivers),
          address(at),
          index(number),
          trouble(context, at)
    {}
    node_state(const node_state&) = delete;
    node_state& operator=(const node_state&) = delete;

    node_context& shared;
    const node_events events;
    const base::address& address;
    const unsigned index;
    connection_state connection = connection_state::idle;
    core::trouble trouble;
    /// The instant at which `connection::on_time` has something to do.
    base::instant wake_up = base::instant::max();

    [[nodiscard]] base::instant now() const noexcept { return shared.now; }
    [[nodiscard]] bool is_ready() const noexcept { return connection == connection_state::ready; }
    /// Whether an attempt to connect is under way, so that the node may soon be ready.
    [[nodiscard]] bool may_come() const noexcept
    {
        return connection == connection_state::connecting ||
               connection == connection_state::handshaking;
    }
    /// Moves `wake_up` to `at` if that is earlier.
    void wake_by(base::instant at) noexcept { wake_up = std::min(wake_up, at); }

    /// Reports the node's vote for the round. `error`: the text for a caller's report; may be
    /// empty.
    void vote(round& r, node_outcome outcome, std::string_view error = {}) noexcept
    {
        events.rounds.on_vote(r, index, outcome, error);
    }
    /// Reports the node's answer about a fencing counter. `why`: the reason of an answer that is
    /// `unknown` or `unusable`.
    void tell_counter(round& r, counter_answer::kind what, std::int64_t value,
                      std::string_view why = {})
    {
        events.rounds.on_counter(r, index, {what, value, why});
    }
};

}  // namespace redlock::core
