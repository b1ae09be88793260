#include "client/operations.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <set>
#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// The owner tokens that the nodes have for a resource.
std::set<std::string> owners_of(const std::string& resource)
{
    std::set<std::string> result;
    for (std::size_t i = 0; i < nodes().size(); ++i) {
        if (const auto owner = nodes()[i].get(resource)) {
            result.insert(*owner);
        }
    }
    return result;
}

error_code extend(scene& s)
{
    outcome<extending> got;
    extending::begin(s, got.receiver());
    REQUIRE(run_until(s.io, [&] { return got.done; }));
    return got.error;
}

}  // namespace

TEST_CASE("p36: acquiring a resource once more leaves the held lock unchanged",
          "[leases][pitfall][p36]")
{
    running_scene s;
    s.held = s.take(s.name);
    const std::string owner(s.held.owner_token());
    const auto until = s.held.valid_until();
    outcome<acquiring> again;
    acquire_options o = long_lease();
    o.max_attempts = 1;
    s.locks->async_acquire(s.name, o, again.receiver());
    REQUIRE(run_until(s.io, [&] { return again.done; }));
    CHECK(again.error == errc::contended);
    CHECK(s.held.owns());
    CHECK(s.held.owner_token() == owner);
    CHECK(s.held.valid_until() == until);
    CHECK(owners_of(s.name) == std::set{owner});
    CHECK_FALSE(extend(s));
}

TEST_CASE("p36: a new lock that replaces a held one releases the held one",
          "[leases][pitfall][p36]")
{
    running_scene s;
    s.held = s.take(s.name);
    const std::string first(s.held.owner_token());
    const std::string other = fresh_name();
    lock next = s.take(other);
    const std::string second(next.owner_token());
    CHECK(first != second);
    CHECK(owners_of(s.name) == std::set{first});
    CHECK(owners_of(other) == std::set{second});

    s.held = std::move(next);
    CHECK(s.keys_become(0, s.name));
    CHECK_FALSE(next);
    CHECK(s.held.resource() == other);
    CHECK(s.held.owner_token() == second);
    CHECK(owners_of(other) == std::set{second});
    CHECK_FALSE(extend(s));

    // The first resource is free, and the lock that is taken now is a third lease.
    next = s.take(s.name);
    CHECK(owners_of(s.name) == std::set{std::string(next.owner_token())});
    CHECK(next.owner_token() != first);
    for (auto* held : {&s.held, &next}) {
        const std::string resource(held->resource());
        *held = {};
        CHECK(s.keys_become(0, resource));
    }
}

TEST_CASE("an adopted lock knows the nodes that have its key", "[leases]")
{
    const bool everywhere = GENERATE(true, false);
    running_scene s;
    lock left = s.take(s.name);
    REQUIRE(s.keys_become(nodes().size(), s.name));
    const std::string owner = std::move(left).detach();
    CHECK(s.held.granted_by() == 0);
    if (!everywhere) {
        nodes()[0].command({"DEL", s.name});
    }
    outcome<adopting> got;
    s.locks->async_adopt(s.name, owner, long_ttl, got.receiver());
    REQUIRE(run_until(s.io, [&] { return got.done && s.locks->stats().unanswered == 0; }));
    REQUIRE_FALSE(got.error);
    CHECK(got.value->granted_by() == (everywhere ? 3U : 2U));
    CHECK(got.value->owns());

    outcome<releasing> release;
    s.locks->async_release(std::move(*got.value), release.receiver());
    REQUIRE(run_until(s.io, [&] { return release.done; }));
    CHECK(release.fulfilled(s));
    CHECK(s.keys_become(0, s.name));
}

TEST_CASE("p10: no handler gets a lock whose lease shrank too far during another handler",
          "[leases][pitfall][p10]")
{
    running_scene s;
    acquire_options o = long_lease();
    o.max_attempts = 1;
    o.min_validity = std::chrono::floor<std::chrono::milliseconds>(
        o.ttl * (1 - shared_config().drift_factor) - 200ms);
    // Both answers have arrived when the first handler runs, and the second handler waits for its
    // end. If the first acquire fails, as on a busy machine, the test shows nothing and tries
    // again.
    bool shown = false;
    for (int tries = 0; !shown; ++tries) {
        REQUIRE(tries < 50);
        unsigned told = 0;
        const auto receive = [&](error_code ec, lock l) {
            if (++told == 1) {
                shown = !ec;
                for (const auto end = boot_clock::now() + 200ms; boot_clock::now() < end;) {
                }
                return;
            }
            CHECK_FALSE(l.owns());
            CHECK(ec == errc::expired);
            CHECK_FALSE(l);
        };
        const std::string one = fresh_name();
        const std::string other = fresh_name();
        s.locks->async_acquire(one, o, receive);
        s.locks->async_acquire(other, o, receive);
        REQUIRE(run_until(s.io, [&] { return told == 2; }));
        CHECK(s.keys_become(0, one));
        CHECK(s.keys_become(0, other));
    }
}
