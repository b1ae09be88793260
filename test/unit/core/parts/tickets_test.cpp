#include "core/node/tickets.hpp"

#include "context.hpp"
#include "resp/scripts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using core::command;
using core::form;
using core::place_answer;

namespace {

struct node_with_queues : ready_node {
    explicit node_with_queues(config c = {}) : ready_node(std::move(c))
    {
        context.random.has_bytes = true;
    }

    /// Asks for a place, and takes the command as if its reply had come.
    core::pending ask()
    {
        tickets.ask_place(
            l, {.resource = "r", .own = *core::ticket::make(context.random), .ttl = 30s});
        return answer();
    }
    core::pending leave()
    {
        tickets.leave(l, "r", {}, 0);
        return answer();
    }
    /// The meaning of an error in reply to the question for a place.
    place_answer error(const std::string& text)
    {
        return tickets.take_error(ask(), received("-" + text + "\r\n").reply());
    }

    core::tickets tickets{state, requests};
};

}  // namespace

TEST_CASE_METHOD(node_with_queues,
                 "the commands of a queue name its lock, its ticket and its number",
                 "[core][tickets]")
{
    context.settings.key_prefix = "app:";
    tickets.ask_place(l, {.resource = "s",
                          .own = *core::ticket::parse("0123456789abcdef"),
                          .number = 7,
                          .ttl = 30s,
                          .still_before = 4});
    tickets.leave(l, "s", "0123456789abcdef", 2);
    CHECK(requests.oldest().of_lease().references == 3);
    CHECK(parse_commands(requests.out().last()) ==
          std::vector<words>{{"EVAL", std::string(resp::queue_script.text), "2", "app:s",
                              "app:s:redlock:queue", "0123456789abcdef", "30000", "7", "4"},
                             {"EVAL", std::string(resp::leave_script.text), "2", "app:s",
                              "app:s:redlock:queue", "0123456789abcdef"}});
    CHECK(answer().what == command::queue);
    const core::pending left = answer();
    CHECK(left.what == command::leave);
    CHECK(left.member == 2);
    CHECK(l.references == 1);
}

TEST_CASE_METHOD(node_with_queues,
                 "the script of a queue goes out as text until the node has run it",
                 "[core][tickets]")
{
    CHECK(ask().sent_as == form::eval);
    CHECK(ask().sent_as == form::eval);
    tickets.note_run();
    CHECK(ask().sent_as == form::evalsha);
    CHECK(leave().sent_as == form::eval);
    SECTION("on each connection")
    {
        tickets.on_ready();
        CHECK(ask().sent_as == form::eval);
    }
    SECTION("and again after it has forgotten the script")
    {
        CHECK(error("NOSCRIPT No matching script.") == place_answer::again);
        CHECK(tickets.can_serve());
        CHECK(ask().sent_as == form::eval);
    }
}

TEST_CASE_METHOD(node_with_queues,
                 "a node that refuses the script serves no queue on this connection",
                 "[core][tickets]")
{
    CHECK(tickets.can_serve());
    CHECK(error("NOPERM User x has no permissions to run the 'eval' command") ==
          place_answer::refused);
    CHECK_FALSE(tickets.can_serve());
    CHECK(tickets.take_refusal());
    tickets.on_ready();
    CHECK(tickets.can_serve());
    CHECK(error("ERR unknown command") == place_answer::refused);
    CHECK_FALSE(tickets.can_serve());
    CHECK_FALSE(tickets.take_refusal());
}

TEST_CASE_METHOD(node_with_queues,
                 "a node that cannot run the script now or for this key serves other queues",
                 "[core][tickets]")
{
    const auto* const text = GENERATE(
        "WRONGTYPE Operation against a key", "OOM command not allowed", "LOADING Redis is loading",
        "BUSY Redis is busy", "READONLY You can't write", "MISCONF Redis is configured to save");
    CHECK(error(text) == place_answer::refused);
    CHECK(tickets.can_serve());
    CHECK_FALSE(tickets.take_refusal());
}

TEST_CASE_METHOD(node_with_queues, "a node serves a queue if commands can be sent to it",
                 "[core][tickets]")
{
    CHECK(tickets.can_serve());
    SECTION("not without a connection")
    {
        state.connection = core::connection_state::waiting;
    }
    SECTION("not without room for a command")
    {
        context.settings.max_buffered_bytes = 1;
        tickets.leave(l, "r", {}, 0);
    }
    SECTION("not if the configuration wants none")
    {
        context.settings.fair_queue = false;
    }
    CHECK_FALSE(tickets.can_serve());
}

TEST_CASE_METHOD(node_with_queues, "a lost node gets the tickets that a client left there",
                 "[core][tickets]")
{
    const auto number = [](unsigned i) { return "0123456789ab" + std::to_string(i); };
    const auto leave_late = [&](unsigned i) {
        tickets.leave_later("r", *core::ticket::parse(number(i)));
    };
    leave_late(1000);
    tickets.send_late();
    CHECK(requests.empty());  // the node was not lost

    state.connection = core::connection_state::waiting;
    const unsigned left = GENERATE(1u, 1000u, 1001u);
    for (unsigned i = 0; i < left; ++i) {
        leave_late(2000 + i);
    }
    tickets.send_late();
    CHECK(requests.empty());
    state.connection = core::connection_state::ready;
    tickets.send_late();
    std::string bytes;
    while (!requests.out().empty()) {
        bytes += std::exchange(requests.out().take(), {});
        requests.out().on_written({});
    }
    const std::vector<words> sent = parse_commands(bytes);
    CHECK(sent.size() == std::min(left, 1000u));
    CHECK(sent.front() == words{"EVAL", std::string(resp::leave_script.text), "2", "r",
                                "r:redlock:queue", number(left == 1001 ? 2001 : 2000)});
    CHECK(sent.back().back() == number(2000 + left - 1));
    CHECK(answer().what == command::drop_ticket);
    CHECK(l.references == 1);
    const std::size_t unanswered = requests.size();
    tickets.send_late();
    CHECK(requests.size() == unanswered);
}
