#pragma once

#include "base/settings.hpp"
#include "core/node/admission.hpp"
#include "core/node/connection.hpp"
#include "core/node/handshake.hpp"
#include "core/node/notifications.hpp"
#include "core/node/pending_releases.hpp"
#include "core/node/requests.hpp"
#include "core/node/restart_guard.hpp"
#include "core/node/state.hpp"
#include "core/node/tickets.hpp"

namespace redlock::core {

/// The parts of one node, which replies work with.
struct node_parts {
    node_parts(node_context& shared, node_events events, unsigned index, const base::address& at)
        : state(shared, events, index, at),
          handshake(shared.settings, at),
          admission(shared.settings.guard && !at.durable ? &*shared.settings.guard : nullptr),
          requests(state, {shared, handshake, admission}),
          releases(state, requests),
          notifications(state, requests, handshake),
          tickets(state, requests),
          guard(state, requests, admission),
          connection(*this)
    {}

    node_state state;
    core::handshake handshake;
    core::admission admission;
    core::requests requests;
    core::pending_releases releases;
    core::notifications notifications;
    core::tickets tickets;
    core::restart_guard guard;
    core::connection connection;

    /// Whether the log says that this connection has lost a counter, or that a counter stays
    /// without a ttl.
    bool is_lost_counter_logged = false;
    bool is_endless_counter_logged = false;
    /// Whether the log says that the node refuses batches. This stays for all connections, because
    /// the client tries a batch again on each of them.
    bool is_refused_batch_logged = false;
};

}  // namespace redlock::core
