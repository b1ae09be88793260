#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string_view>

using namespace redlock;
using namespace redlock::test;

// A node that lies about its keys.

TEST_CASE("expected failure: a node that grants a key twice gives a lock twice", "[core]")
{
    manual_world w;
    call& one = w.acquire("r", {.ttl = 10s, .timeout = 0ms});
    w.answer(0, ok);
    w.answer(1, nil);
    w.answer(2, ok);
    call& other = w.acquire("r", {.ttl = 10s, .timeout = 0ms});
    w.answer(0, nil);
    w.answer(1, ok);
    w.answer(2, ok);  // it has already granted that
    REQUIRE(one.held != nullptr);
    REQUIRE(other.held != nullptr);
    CHECK(one.held->valid_until() > w.now);
    CHECK(other.held->valid_until() > w.now);
}

TEST_CASE("a node that withholds keys and answers nonsense costs only its own vote", "[core]")
{
    running_world w;
    for (const std::string_view lie :
         {nil, std::string_view(":1\r\n"), std::string_view("+YES\r\n"),
          std::string_view("-ERR no\r\n")}) {
        w.manual();
        call& c = w.acquire("r", {.ttl = 10s, .timeout = 0ms});
        w.answer(2, lie);
        CHECK_FALSE(c.done());
        w.answer(0, ok);
        w.answer(1, ok);
        REQUIRE(c.held != nullptr);
        w.manual(false);
        w.drop(*c.held);
        w.advance(5s);
    }
    // The same for a node that says that no client has the key which the others hold.
    call& held = w.acquire("r", {.ttl = 10s});
    w.peers[1]->master.flush_keys();
    CHECK(w.acquire("r", {.ttl = 10s, .timeout = 0ms}).error == errc::contended);
    CHECK(held.held->valid_until() > w.now);
}
