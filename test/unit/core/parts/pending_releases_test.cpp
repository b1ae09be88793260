#include "core/node/pending_releases.hpp"

#include "base/instant.hpp"
#include "context.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using base::instant;
using core::connection_state;

namespace {

/// The releases of one node, which may have the keys of the lease.
struct releases_of_a_node : ready_node {
    releases_of_a_node()
    {
        l.keys_end = context.shared.now + 10s;
        l.asked = l.answered = core::bit(0);
    }
    ~releases_of_a_node() { releases.drop_all(); }

    void send_due()
    {
        releases.send_due();
        core::encoded_batches none;
        requests.send_batches(none);
    }

    core::pending_releases releases{state, requests};
};

}  // namespace

TEST_CASE_METHOD(releases_of_a_node, "a release is kept until it can be sent",
                 "[core][pending_releases]")
{
    state.connection = connection_state::waiting;
    REQUIRE(releases.keep(l, nullptr, false));
    CHECK(releases.size() == 1);
    CHECK(l.references == 2);
    CHECK(state.wake_up == instant::max());
    state.connection = connection_state::ready;
    send_due();
    CHECK(releases.size() == 0);
    CHECK(requests.size() == 1);
    CHECK(requests.out().last().find(std::string(40, 'a')) != std::string::npos);
    releases.settle(answer(), node_outcome::granted, {});
    CHECK(l.references == 1);
    CHECK(context.shared.pending_releases.in_use() == 0);
}

TEST_CASE_METHOD(releases_of_a_node, "a release of a key that has ended is not kept",
                 "[core][pending_releases]")
{
    CHECK(releases.end_of_key(l) > l.keys_end);
    context.shared.now = releases.end_of_key(l);
    CHECK_FALSE(releases.keep(l, nullptr, false));
    CHECK(releases.size() == 0);
}

TEST_CASE_METHOD(releases_of_a_node, "a release is repeated while its key may still be set",
                 "[core][pending_releases]")
{
    l.answered = 0;
    CHECK(releases.end_of_key(l) == instant::max());
    REQUIRE(releases.keep(l, nullptr, false));
    send_due();
    releases.settle(answer(), node_outcome::refused, {});
    CHECK(releases.size() == 1);
    CHECK(releases.next() == context.shared.now + 1s);
    send_due();
    CHECK(requests.empty());
    context.shared.now += 1s;
    send_due();
    CHECK(requests.size() == 1);
    releases.settle(answer(), node_outcome::refused, {});
    CHECK(releases.next() == context.shared.now + 2s);
}

TEST_CASE_METHOD(releases_of_a_node, "the round of a release gets one vote",
                 "[core][pending_releases]")
{
    core::round asked;
    asked.of = &l;
    asked.what = core::round_kind::release;
    asked.references = 1;
    SECTION("granted, although an earlier release may have deleted the key")
    {
        REQUIRE(releases.keep(l, &asked, true));
        send_due();
        releases.settle(answer(), node_outcome::refused, {});
        CHECK(events.votes == std::vector{node_outcome::granted});
    }
    SECTION("disconnected, because the release is dropped")
    {
        context.settings.max_pending_releases = 1;
        REQUIRE(releases.keep(l, &asked, false));
        REQUIRE(releases.keep(l, nullptr, false));
        CHECK(events.votes == std::vector{node_outcome::disconnected});
    }
    SECTION("refused, because the key has ended")
    {
        REQUIRE(releases.keep(l, &asked, false));
        context.shared.now = releases.end_of_key(l);
        releases.drop_expired();
        CHECK(events.votes == std::vector{node_outcome::refused});
        CHECK(releases.size() == 0);
    }
    CHECK(asked.references == 1);
}

TEST_CASE_METHOD(releases_of_a_node, "after an error one release a second is tried",
                 "[core][pending_releases]")
{
    l.granted = core::bit(0);
    REQUIRE(releases.keep(l, nullptr, false));
    REQUIRE(releases.keep(l, nullptr, false));
    send_due();
    REQUIRE(requests.size() == 2);
    releases.note_error("it was refused");
    releases.settle(answer(), node_outcome::failed, "ERR");
    releases.settle(answer(), node_outcome::failed, "ERR");
    CHECK(releases.own_key_error(l) == "it was refused");
    core::lease other;
    other.resource = "other";
    CHECK(releases.own_key_error(other).empty());
    context.shared.now += 1s;
    send_due();
    CHECK(requests.size() == 1);
    releases.settle(answer(), node_outcome::granted, {});
    send_due();
    CHECK(requests.size() == 1);
    releases.settle(answer(), node_outcome::granted, {});
}

TEST_CASE_METHOD(releases_of_a_node, "a bound drops repairs before releases",
                 "[core][pending_releases]")
{
    context.settings.max_pending_releases = 1;
    releases.keep_repair(l);
    CHECK(releases.size() == 1);
    CHECK(releases.keep(l, nullptr, false));
    CHECK(releases.size() == 1);
    CHECK(releases.unsent() == 1);
    CHECK(context.shared.stats.pending_releases_dropped == 0);
    CHECK(releases.keep(l, nullptr, false));
    CHECK(releases.size() == 1);
    CHECK(context.shared.stats.pending_releases_dropped == 1);
    CHECK(l.references == 2);
}

TEST_CASE_METHOD(releases_of_a_node, "after a failed repair one a second is tried",
                 "[core][pending_releases]")
{
    releases.on_repair_failed(l);
    CHECK(state.wake_up == context.shared.now + 1s);
    releases.keep_repair(l);
    releases.send_due_repairs();
    CHECK(requests.empty());
    CHECK(releases.next() == context.shared.now + 1s);
    context.shared.now += 1s;
    releases.send_due_repairs();
    CHECK(requests.size() == 1);
    answer();
    releases.on_repaired();
    releases.send_due_repairs();
    CHECK(requests.size() == 1);
    answer();
    CHECK(l.references == 1);
}
