#pragma once

#include "support/sanitizers.hpp"

#include <cstdlib>
#include <string_view>

namespace redlock::test {

/**
 * Whether a test runs only a part of its cases. True in the tests of every change that run under a
 * sanitizer, because a sanitizer makes each step several times as long. ctest passes on
 * REDLOCK_FULL_TESTS of CMake. A program that runs without ctest runs everything.
 */
[[nodiscard]] inline bool plays_a_part()
{
    const char* const full = std::getenv("REDLOCK_FULL_TESTS");
    return REDLOCK_TEST_SANITIZED && full != nullptr && std::string_view(full) == "OFF";
}

}  // namespace redlock::test
