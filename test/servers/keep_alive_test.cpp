#include "support/locks.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// The renewals that the clients' callbacks reported.
struct diary {
    std::vector<renewal_outcome> told;

    [[nodiscard]] config keeping(config c)
    {
        c.on_renewal = [this](const renewal& r) { told.push_back(r.outcome); };
        return c;
    }

    [[nodiscard]] std::size_t count(renewal_outcome what) const
    {
        return static_cast<std::size_t>(std::count(told.begin(), told.end(), what));
    }
};

config renewing(std::vector<std::string> nodes)
{
    config c = patient(std::move(nodes));
    c.node_timeout = brief_timeout;
    return c;
}

acquire_options kept()
{
    return {.ttl = brief_ttl, .timeout = never, .keep_alive = keep_alive{}};
}

}  // namespace

TEST_CASE("a kept lock outlives its ttl and leaves no key after its release",
          "[servers][keep_alive]")
{
    masters nodes(3, {.kind = each_kind()});
    diary told;
    ready_locks mine(told.keeping(renewing(nodes.urls())));
    lock held = mine.take("r", kept());
    lock plain = mine.take("p", {.ttl = brief_ttl, .timeout = never});
    const auto lost = mine.begin_wait_lost(plain);
    // The client renews four times in each ttl, so more than one ttl has passed.
    REQUIRE(mine.await([&] { return told.count(renewal_outcome::renewed) >= 6; }));
    CHECK(held.owns());
    CHECK(nodes.count("r") >= 2);  // a key that is renewed late on one node is gone there
    CHECK(mine.finish(lost) == errc::lost);
    CHECK_FALSE(plain.owns());

    const auto ended = mine.begin_wait_lost(held);
    mine.give_back(std::move(held));
    CHECK(mine.finish(ended) == errc::not_held);
    CHECK(nodes.count("r") == 0);
    CHECK(told.count(renewal_outcome::lost) == 0);
    CHECK(mine.stats().kept_alive == 0);
}

TEST_CASE("p28: a frozen node does not keep a lock from being renewed", "[servers][pitfall][p28]")
{
    masters nodes(3);
    diary told;
    ready_locks mine(told.keeping(brisk(nodes.urls())));
    std::vector<lock> held;
    for (int i = 0; i < 50; ++i) {
        held.push_back(mine.take("r" + std::to_string(i), kept()));
    }
    nodes[1].stop();
    REQUIRE(mine.await([&] { return told.count(renewal_outcome::renewed) >= 200; }));
    CHECK(std::all_of(held.begin(), held.end(), [](const lock& l) { return l.owns(); }));
    CHECK(told.count(renewal_outcome::lost) == 0);
    nodes[1].cont();
    held.clear();
    REQUIRE(mine.await_quiet());
    for (int i = 0; i < 50; ++i) {
        CHECK(nodes.count("r" + std::to_string(i)) == 0);
    }
}

TEST_CASE("a kept lock survives when its nodes restart one after another with their keys",
          "[servers][keep_alive]")
{
    masters nodes(3, {.files = persistence::append_only});
    diary told;
    ready_locks mine(told.keeping(brisk(nodes.urls())));
    lock held = mine.take("r", kept());
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].restart();
        const auto before = told.count(renewal_outcome::renewed);
        REQUIRE(mine.await_ready(3));
        REQUIRE(mine.await([&] { return told.count(renewal_outcome::renewed) >= before + 2; }));
    }
    CHECK(held.owns());
    CHECK(nodes.count("r") >= 2);
    CHECK(told.count(renewal_outcome::lost) == 0);
    mine.give_back(std::move(held));
}

TEST_CASE("a kept lock is lost when a majority forgot its key and no renewal sets it again",
          "[servers][keep_alive]")
{
    masters nodes(3);
    diary told;
    ready_locks mine(told.keeping(brisk(nodes.urls())));
    lock held = mine.take("r", kept());
    const auto lost = mine.begin_wait_lost(held);
    nodes[0].restart(memory::lost);
    REQUIRE(mine.await_ready(3));
    REQUIRE(mine.await([&] { return told.count(renewal_outcome::renewed) >= 2; }));
    CHECK(held.owns());
    CHECK(nodes.count("r") == 2);
    nodes[1].restart(memory::lost);
    CHECK(mine.finish(lost) == errc::lost);
    CHECK_FALSE(held.owns());
    CHECK(mine.stats().kept_alive_lost == 1);
    held = {};
    REQUIRE(mine.await([&] { return nodes.count("r") == 0; }));
}

TEST_CASE("p32: a kept lock whose nodes are frozen is lost when its validity ends",
          "[servers][pitfall][p32]")
{
    masters nodes(3);
    diary told;
    ready_locks mine(told.keeping(brisk(nodes.urls())));
    lock held = mine.take("r", kept());
    const auto lost = mine.begin_wait_lost(held);
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].stop();
    }
    auto believed = held.valid_until();
    REQUIRE(mine.await([&] {
        believed = std::max(believed, held.valid_until());
        return lost->has_value();
    }));
    CHECK(**lost == errc::lost);
    REQUIRE(mine.await([&] { return told.count(renewal_outcome::lost) == 1; }));
    CHECK(told.count(renewal_outcome::unknown) >= 1);
    CHECK(told.told.back() == renewal_outcome::lost);
    for (std::size_t i = 0; i < 3; ++i) {
        nodes[i].cont();
    }
    // The lock is lost even if answers to its renewals arrive later.
    REQUIRE(mine.await_quiet());
    CHECK(mine.extend(held, 10s) == errc::lost);
    held = {};
    REQUIRE(mine.await([&] { return nodes.count("r") == 0; }));
}
