#include "core/node/restart_guard.hpp"

#include "context.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using core::marker_says;

namespace {

config guarded()
{
    config c;
    c.restart_guard = guard_config{.max_ttl = 10s};
    return c;
}

/// A node with a server whose keys a restart may lose.
struct guarded_node : ready_node {
    guarded_node() : ready_node(guarded()) { context.random.has_bytes = true; }

    void put_marker(const std::string& value)
    {
        server.put("redlock:admitted", {.value = value, .end = {}});
    }
    std::string marker_of_this_run() const
    {
        return server.run_id + context.settings.guard->fingerprint + " since=1700000000000000";
    }
    /// False: the client gives the connection up.
    bool connect(bool is_first = false)
    {
        greet(server);
        if (!guard.begin_connection(greeting)) {
            return false;
        }
        guard.on_ready(greeting, is_first);
        return true;
    }
    /// Sends the step that is due, and takes the server's answer. Returns its name, if one was due.
    std::string step()
    {
        guard.send_step();
        if (requests.empty()) {
            return {};
        }
        session s;
        const words command = parse_commands(std::exchange(requests.out().take(), {})).at(0);
        requests.out().on_written({});
        answer();
        const received r(server.execute(context.shared.now, s, command));
        CHECK(guard.on_answer(admission.end_step(), r.reply()));
        return command.at(0);
    }

    model_master server;
    core::restart_guard guard{state, requests, admission};
    const base::nanos quarantine = context.settings.guard->quarantine;
};

}  // namespace

TEST_CASE_METHOD(guarded_node, "a node whose marker names its run is admitted",
                 "[core][restart_guard]")
{
    put_marker(marker_of_this_run());
    REQUIRE(connect());
    CHECK_FALSE(admission.is_quarantined());
    CHECK(admission.admitted_us() == 1'700'000'000'000'000);
    CHECK(step().empty());
    CHECK(context.log.empty());
}

TEST_CASE_METHOD(guarded_node, "a node without a marker is admitted after its quarantine",
                 "[core][restart_guard]")
{
    REQUIRE(connect());
    CHECK(admission.is_quarantined());
    CHECK(guard.reason().starts_with("its marker is missing"));
    CHECK(step() == "SET");
    CHECK(step().empty());
    context.shared.now += quarantine - 1ns;
    CHECK(step() == "GET");
    CHECK(admission.next_step() == context.shared.now + 1ns);
    context.shared.now += 1ns;
    CHECK(step() == "EVAL");
    CHECK_FALSE(admission.is_quarantined());
    CHECK(guard.reason().empty());
    CHECK(server.value(context.shared.now, "redlock:admitted").starts_with(server.run_id));
    CHECK(context.log.size() == 2);
}

TEST_CASE_METHOD(guarded_node, "another client's marker ends the quarantine",
                 "[core][restart_guard]")
{
    REQUIRE(connect());
    CHECK(step() == "SET");
    put_marker(marker_of_this_run());
    context.shared.now = admission.next_step();
    CHECK(step() == "GET");
    CHECK_FALSE(admission.is_quarantined());
}

TEST_CASE_METHOD(guarded_node, "keys that are lost again restart the quarantine of a node",
                 "[core][restart_guard]")
{
    REQUIRE(connect());
    CHECK(step() == "SET");
    server.flush_keys();
    context.shared.now += quarantine;
    CHECK(step() == "EVAL");
    CHECK(admission.is_quarantined());
    CHECK(step() == "SET");
    CHECK(admission.remaining(context.shared.now) == quarantine);
}

TEST_CASE_METHOD(guarded_node, "a marker of another run or configuration admits no node",
                 "[core][restart_guard]")
{
    SECTION("a run from before a restart")
    {
        put_marker(std::exchange(server.run_id, std::string(40, 'b')) +
                   context.settings.guard->fingerprint);
        REQUIRE(connect());
        CHECK(admission.is_quarantined());
        CHECK(guard.reason().starts_with("it was restarted"));
    }
    SECTION("another configuration")
    {
        put_marker(server.run_id + " nodes=7");
        CHECK_FALSE(connect());
    }
    SECTION("read later")
    {
        put_marker(marker_of_this_run());
        REQUIRE(connect());
        CHECK(guard.on_marker(received("$-1\r\n").reply()) == marker_says::not_admitted);
        CHECK(admission.is_quarantined());
        CHECK(state.wake_up == context.shared.now);
    }
}

TEST_CASE_METHOD(guarded_node, "admit_new_nodes admits a node without a marker once",
                 "[core][restart_guard]")
{
    context.settings.guard->admit_new_nodes = true;
    const bool is_first = GENERATE(true, false);
    REQUIRE(connect(is_first));
    CHECK(step() == "SET");
    CHECK(step() == (is_first ? "EVAL" : ""));
    CHECK(admission.is_quarantined() == !is_first);
}

TEST_CASE_METHOD(guarded_node, "why a node cannot be admitted is logged once",
                 "[core][restart_guard]")
{
    REQUIRE(connect());
    for (int i = 0; i < 2; ++i) {
        guard.cannot_be_admitted("it is full");
        CHECK(guard.reason() == "it is full");
    }
    CHECK(context.log.size() == 2);
    context.shared.now = admission.next_step();
    CHECK(step() == "SET");
    CHECK(guard.reason() == "its marker is missing, or names another run of it");
}

TEST_CASE_METHOD(guarded_node, "without entropy a client leaves no pending key, and tries again",
                 "[core][restart_guard]")
{
    context.random.has_bytes = false;
    REQUIRE(connect());
    CHECK(step().empty());
    CHECK(admission.next_step() == context.shared.now + 1s);
    context.random.has_bytes = true;
    CHECK(step().empty());
    context.shared.now = admission.next_step();
    CHECK(step() == "SET");
}

TEST_CASE_METHOD(guarded_node, "a vote needs a proof until a grant of this key was proven",
                 "[core][restart_guard]")
{
    CHECK(guard.has_to_prove(l));
    l.counted = core::bit(0);
    CHECK_FALSE(guard.has_to_prove(l));
}
