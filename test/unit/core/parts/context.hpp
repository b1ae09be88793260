#pragma once

#include <redlock/config.hpp>

#include "base/entropy.hpp"
#include "base/owner_token.hpp"
#include "base/settings.hpp"
#include "core/lease.hpp"
#include "core/node/admission.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/handshake.hpp"
#include "core/node/requests.hpp"
#include "core/node/state.hpp"
#include "core/round.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/// Has no random bytes, so that `random_below` returns half of its bound.
struct no_entropy final : base::entropy {
    [[nodiscard]] bool fill(std::span<std::byte> /*out*/) noexcept override { return false; }
};

/// The settings, entropy and memory of a client that one part of the core needs.
struct part_context : core::record_owner {
    explicit part_context(config c = {}) : settings(base::make_settings(with_nodes(std::move(c))))
    {}

    void take_back(core::round& /*r*/) noexcept override { ++rounds_taken_back; }
    void take_back(core::lease& /*l*/) noexcept override { ++leases_taken_back; }

    unsigned rounds_taken_back = 0;
    unsigned leases_taken_back = 0;
    base::settings settings;
    no_entropy random;
    core::node_context shared{settings, random, *this};

private:
    static config with_nodes(config c)
    {
        c.nodes = {"redis://a", "redis://b", "redis://c"};
        return c;
    }
};

/// Keeps the reports of the node with this number.
struct node_reports final : core::round_events {
    explicit node_reports(unsigned number) : index(number) {}

    void on_vote(core::round& /*r*/, unsigned node, node_outcome outcome,
                 std::string_view /*error*/) noexcept override
    {
        CHECK(node == index);
        votes.push_back(outcome);
    }
    void on_keys_set(core::round& /*r*/) noexcept override {}
    void on_counter(core::round& /*r*/, unsigned /*node*/,
                    const core::counter_answer& /*answer*/) override
    {}
    void on_watched(const core::lease& /*l*/, unsigned /*node*/, unsigned /*held*/,
                    core::reported_ttl /*told*/) noexcept override
    {}
    void on_notification(unsigned node, core::notification what,
                         std::string_view resource) noexcept override
    {
        CHECK(node == index);
        notifications.emplace_back(what, resource);
    }
    void on_connection(unsigned node, core::connection_event what) override
    {
        CHECK(node == index);
        connections.push_back(what);
    }

    unsigned index;
    std::vector<node_outcome> votes;
    std::vector<std::pair<core::notification, std::string>> notifications;
    std::vector<core::connection_event> connections;
};

/// Makes `l` a lease of the resource "r" that a caller refers to.
inline void become_lease(core::lease& l)
{
    l.resource = "r";
    l.token = *base::owner_token::parse(std::string(40, 'a'));
    l.ttl = std::chrono::seconds{10};
    l.references = 1;
}

/// A node that is ready, as far as the parts see it that send commands, and a lease.
struct ready_node {
    explicit ready_node(config c = {}) : context(std::move(c))
    {
        become_lease(l);
        state.connection = core::connection_state::ready;
    }

    /// Takes the oldest command from the requests, as if its reply had come.
    core::pending answer()
    {
        const core::pending p = requests.take_oldest();
        requests.drop_subject(p);
        return p;
    }

    part_context context;
    node_reports events{0};
    core::lease l;
    core::node_state state{context.shared, events, 0, context.settings.nodes[0]};
    core::handshake greeting{context.settings, context.settings.nodes[0]};
    core::admission admission{context.settings.guard ? &*context.settings.guard : nullptr};
    core::requests requests{state, {context.shared, greeting, admission}};
};

}  // namespace redlock::test
