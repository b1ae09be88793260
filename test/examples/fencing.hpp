#pragma once

#include "examples/program.hpp"

#include <catch2/catch_test_macros.hpp>

#include <regex>
#include <string>
#include <vector>

namespace redlock::test {

/// The output of both fencing examples: the second worker has the greater token. The first worker
/// writes later and is refused.
inline void check_fenced(const std::string& name, const std::vector<std::string>& arguments)
{
    // A worker that pauses for a second no longer has its lock, and does not write.
    ended_program example;
    CHECK(wait_for([&] {
        example = run_in_time(name, arguments, {no_majority, timeout_passed, granted_too_late});
        return example.has_said("first is stopped\n") && example.has_said("second: written\n");
    }));
    const std::string& said = example.said;
    CAPTURE(said);
    REQUIRE(example.status == 0);
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
