#pragma once

#include <redlock/config.hpp>
#include <redlock/log.hpp>
#include <redlock/report.hpp>

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
#include "resp/reader.hpp"
#include "support/virtual/model_master.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/// Without random bytes, so that `random_below` returns half of its bound, until a test wants
/// bytes. They are all zero.
struct scarce_entropy final : base::entropy {
    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override
    {
        std::ranges::fill(out, std::byte{});
        return has_bytes;
    }

    bool has_bytes = false;
};

/// The settings, entropy, log and memory of a client that one part of the core needs.
struct part_context : core::record_owner {
    explicit part_context(config c = {}) : settings(base::make_settings(completed(std::move(c)))) {}
    part_context(const part_context&) = delete;
    part_context& operator=(const part_context&) = delete;

    void take_back(core::round& /*r*/) noexcept override { ++rounds_taken_back; }
    void take_back(core::lease& /*l*/) noexcept override { ++leases_taken_back; }

    unsigned rounds_taken_back = 0;
    unsigned leases_taken_back = 0;
    /// The lines above debug, unless the configuration has a log of its own.
    std::vector<std::string> log;
    base::settings settings;
    scarce_entropy random;
    core::node_context shared{settings, random, *this};

private:
    config completed(config c)
    {
        c.nodes = {"redis://a", "redis://b", "redis://c"};
        if (!c.log) {
            c.log = [this](log_level level, std::string_view line) {
                if (level != log_level::debug) {
                    log.emplace_back(line);
                }
            };
        }
        return c;
    }
};

/// Keeps the reports of the node with this number.
struct node_reports final : core::round_events, core::key_events, core::connection_events {
    explicit node_reports(unsigned number) : index(number) {}

    void on_vote(core::round& /*r*/, unsigned node, node_outcome outcome,
                 std::string_view /*error*/) noexcept override
    {
        CHECK(node == index);
        votes.push_back(outcome);
    }
    void on_counter(core::round& /*r*/, unsigned /*node*/,
                    const core::counter_answer& /*answer*/) override
    {}
    void on_watched(const core::lease& /*l*/, unsigned /*node*/,
                    std::int64_t /*ttl_ms*/) noexcept override
    {}
    void on_notification(unsigned node, core::notification what,
                         std::string_view key) noexcept override
    {
        CHECK(node == index);
        notifications.emplace_back(what, key);
    }
    void on_place(const core::lease& /*l*/, unsigned node, core::place_answer what,
                  const core::queue_place& found) noexcept override
    {
        CHECK(node == index);
        places.emplace_back(what, found);
    }
    void on_left(const core::lease& /*l*/, unsigned held, bool others_wait) noexcept override
    {
        left.emplace_back(held, others_wait);
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
    std::vector<std::pair<core::place_answer, core::queue_place>> places;
    /// The number of a resource, and whether others wait for it.
    std::vector<std::pair<unsigned, bool>> left;
};

/// Makes `l` a lease of the resource "r" that a caller refers to.
inline void become_lease(core::lease& l)
{
    l.resource = "r";
    l.token = *base::owner_token::parse(std::string(40, 'a'));
    l.ttl = std::chrono::seconds{10};
    l.references = 1;
}

/// A reply of a server.
class received {
public:
    explicit received(std::string bytes) : bytes_(std::move(bytes))
    {
        reader_.feed(bytes_);
        REQUIRE(reader_.next(reply_) == resp::read_status::ready);
    }

    [[nodiscard]] const resp::reply& reply() const noexcept { return reply_; }

private:
    std::string bytes_;
    resp::reader reader_;
    resp::reply reply_;
};

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

    /// Completes the handshake with the server.
    void greet(model_master& server)
    {
        session s;
        std::string out;
        unsigned replies = greeting.start(out);
        while (replies > 0) {
            for (const words& command : parse_commands(std::exchange(out, {}))) {
                const received r(server.execute(context.shared.now, s, command));
                unsigned more = 0;
                REQUIRE(greeting.on_reply(r.reply(), out, more) !=
                        core::handshake::progress::failed);
                replies += more - 1;
            }
        }
    }

    part_context context;
    node_reports events{0};
    core::lease l;
    core::node_state state{context.shared, {events, events, events}, 0, context.settings.nodes[0]};
    core::handshake greeting{context.settings, context.settings.nodes[0]};
    core::admission admission{context.settings.guard ? &*context.settings.guard : nullptr};
    core::requests requests{state, {context.shared, greeting, admission}};
};

}  // namespace redlock::test
