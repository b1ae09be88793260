#pragma once

#include <catch2/catch_test_macros.hpp>

#include <regex>
#include <string>

namespace redlock::test {

/// What both examples of fencing say: the second worker has the greater token, and the first one's
/// write comes after its, and is refused.
inline void check_fenced(const std::string& said)
{
    CAPTURE(said);
    std::smatch found;
    const std::regex story(
        "first: token (\\d+)\n"
        "first is stopped\n"
        "second: token (\\d+)\n"
        "second: written\n"
        "first: refused, a later holder was there\n"
        "orders/42: written by second\n");
    REQUIRE(std::regex_match(said, found, story));
    CHECK(std::stoull(found[1]) < std::stoull(found[2]));
}

}  // namespace redlock::test
