#include "context.hpp"

#include "base/owner_token.hpp"

#include <catch2/catch_test_macros.hpp>

#include <stdexcept>
#include <string_view>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

TEST_CASE("without entropy a random time is half of its bound", "[core][node_context]")
{
    part_context c;
    CHECK(c.shared.random_below(1s) == 500ms);
    CHECK(c.shared.random_below(0ns) == 0ns);
}

TEST_CASE("a record goes back with its last reference", "[core][node_context]")
{
    part_context c;
    core::lease l;
    l.references = 2;
    c.shared.unref(l);
    CHECK(c.leases_taken_back == 0);
    c.shared.unref(l);
    CHECK(c.leases_taken_back == 1);
    core::round r;
    r.references = 1;
    c.shared.unref(r);
    CHECK(c.rounds_taken_back == 1);
}

TEST_CASE("a log that throws changes nothing", "[core][node_context]")
{
    unsigned lines = 0;
    config noisy;
    noisy.log = [&](log_level, std::string_view line) {
        CHECK(line == "a b");
        ++lines;
        throw std::runtime_error("disk full");
    };
    const part_context c{noisy};
    c.shared.log(log_level::warning, {"a", " ", "b"});
    CHECK(lines == 1);
}
