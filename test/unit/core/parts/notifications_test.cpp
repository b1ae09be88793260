#include "core/node/notifications.hpp"

#include "context.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using base::instant;
using core::command;
using core::notification;

namespace {

/// A node that speaks RESP3, as notifications need it.
struct notifying_node : ready_node {
    notifying_node()
    {
        model_master server;
        greet(server);
        notifications.on_ready();
    }

    /// The commands since the last call, which are answered.
    std::vector<command> sent()
    {
        std::vector<command> all;
        while (!requests.empty()) {
            all.push_back(answer().what);
        }
        return all;
    }
    void push(const std::string& bytes) { notifications.on_push(received(bytes).reply()); }
    void lose_connection()
    {
        notifications.on_connected();
        // For each command that had no answer.
        notifications.on_watch_lost();
        notifications.on_watch_lost();
        notifications.on_ready();
    }

    core::notifications notifications{state, requests, greeting};
};

using row = std::vector<command>;
using all_reports = std::vector<std::pair<notification, std::string>>;

constexpr const char* all_keys = ">2\r\n$10\r\ninvalidate\r\n_\r\n";

}  // namespace

TEST_CASE_METHOD(notifying_node, "the first watch of a connection starts its notifications",
                 "[core][notifications]")
{
    CHECK(notifications.can_track());
    CHECK_FALSE(notifications.is_tracking());
    for (int i = 0; i < 2; ++i) {
        notifications.watch(l, "r", {});
        CHECK(notifications.is_tracking());
        CHECK(sent() == row{command::start_tracking, command::caching, command::watch});
        notifications.watch(l, "r", {});
        CHECK(sent() == row{command::caching, command::watch});
        notifications.on_ready();
    }
    CHECK(l.references == 1);
}

TEST_CASE_METHOD(notifying_node, "notifications end after two seconds without a waiter",
                 "[core][notifications]")
{
    notifications.watch(l, "r", {});
    static_cast<void>(sent());
    context.shared.waiters_at[0] = 1;
    context.shared.now += 2s;
    CHECK(state.wake_up == context.shared.now);
    notifications.end_if_idle();
    CHECK(notifications.next() == context.shared.now + 2s);
    context.shared.waiters_at[0] = 0;
    context.shared.now += 2s - 1ns;
    notifications.end_if_idle();
    CHECK(sent().empty());
    context.shared.now += 1ns;
    notifications.end_if_idle();
    CHECK(sent() == row{command::end_tracking});
    CHECK_FALSE(notifications.is_tracking());
    CHECK(notifications.next() == instant::max());
}

TEST_CASE_METHOD(notifying_node, "a notification names a resource of this prefix, or means all",
                 "[core][notifications]")
{
    context.settings.key_prefix = "app:";
    push(">2\r\n$10\r\ninvalidate\r\n*2\r\n$5\r\napp:r\r\n$5\r\nother\r\n");
    push(">2\r\n$7\r\nmessage\r\n*1\r\n$5\r\napp:r\r\n");
    CHECK(events.notifications == all_reports{{notification::key_gone, "r"}});
    push(all_keys);
    CHECK(events.notifications.back() == std::pair{notification::all_keys_gone, std::string()});
}

TEST_CASE_METHOD(notifying_node, "a node that misses a notification is silent until the next one",
                 "[core][notifications]")
{
    context.shared.now += 5s;
    for (int i = 0; i < 2; ++i) {
        CHECK(notifications.note_silence(context.shared.now));
        CHECK(notifications.is_silent());
        push(all_keys);
        CHECK_FALSE(notifications.is_silent());
        CHECK_FALSE(notifications.note_silence(context.shared.now));
        CHECK_FALSE(notifications.is_silent());
        context.shared.now += 1s;
    }
    CHECK(context.log.size() == 1);
}

TEST_CASE_METHOD(notifying_node, "three connections that notifications cost in a row pause them",
                 "[core][notifications]")
{
    lose_connection();
    lose_connection();
    notifications.on_watched();
    lose_connection();
    lose_connection();
    CHECK(notifications.can_track());
    CHECK(context.log.empty());
    lose_connection();
    CHECK_FALSE(notifications.can_track());
    CHECK(context.log.size() == 1);
    context.shared.now += 10min;
    CHECK(notifications.can_track());
}

TEST_CASE_METHOD(notifying_node,
                 "a refusal ends the notifications of a connection, and is logged once",
                 "[core][notifications]")
{
    notifications.watch(l, "r", {});
    SECTION("of the start, for good")
    {
        CHECK(notifications.on_refused(command::start_tracking, true));
        CHECK_FALSE(notifications.can_track());
        CHECK_FALSE(notifications.on_refused(command::caching, true));
        notifications.on_ready();
        CHECK(notifications.can_track());
        CHECK_FALSE(notifications.on_refused(command::start_tracking, true));
    }
    SECTION("of the start, for now: the error of the command after it says nothing")
    {
        CHECK_FALSE(notifications.on_refused(command::start_tracking, false));
        CHECK_FALSE(notifications.on_refused(command::caching, true));
        CHECK(notifications.can_track());
        CHECK_FALSE(notifications.is_tracking());
    }
    SECTION("of the command after a start that was accepted")
    {
        notifications.on_accepted(command::start_tracking);
        CHECK(notifications.on_refused(command::caching, true));
        CHECK_FALSE(notifications.can_track());
    }
}
