#include "cli/duration.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <string>

using std::chrono::milliseconds;

TEST_CASE("a duration is a number and a unit", "[unit][duration]")
{
    using redlock::cli::parse_duration;
    CHECK(parse_duration("10s") == milliseconds(10'000));
    CHECK(parse_duration("500ms") == milliseconds(500));
    CHECK(parse_duration("1.5m") == milliseconds(90'000));
    CHECK(parse_duration("0.001s") == milliseconds(1));
    CHECK(parse_duration("0") == milliseconds(0));
    CHECK(parse_duration("2h") == milliseconds(7'200'000));
    CHECK(parse_duration("1d") == milliseconds(86'400'000));
    using redlock::cli::why_no_duration;
    const auto [text, why] = GENERATE(table<std::string, std::string>(
        {{"10", "'10' has no unit: write it as 500ms, 30s, 5m or 2h"},
         {"99999999999999999999999999",
          "'99999999999999999999999999' has no unit: write it as 500ms, "
          "30s, 5m or 2h"},
         {"-1s", "'-1s' is negative"},
         {"0.5ms", "'0.5ms' is too fine: give whole milliseconds"},
         {"4000d", "'4000d' is too long: ten years at most"},
         {"99999999999999999999999999h",
          "'99999999999999999999999999h' is too long: ten years at "
          "most"}}));
    CHECK_FALSE(parse_duration(text));
    CHECK(why_no_duration(text) == why);
    CHECK(why_no_duration("30s").empty());
    for (const std::string none : {"", "s", "1 s", "1sec", "1e3", "nan", "inf", "0x10", "nans"}) {
        CAPTURE(none);
        CHECK_FALSE(parse_duration(none));
        CHECK(why_no_duration(none) ==
              '\'' + none + "' is not a duration: write it as 500ms, 30s, 5m or 2h");
    }
    for (const auto length : {0, 1, 999, 1000, 60'000, 61'000, 3'600'000, 90'000}) {
        CHECK(parse_duration(redlock::cli::to_text(milliseconds(length))) == milliseconds(length));
    }
}
