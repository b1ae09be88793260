#include "base/text.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <string_view>

using redlock::base::duration_text;
using redlock::base::printable;
using namespace std::string_view_literals;

TEST_CASE("ordinary text stays as it is", "[base][text]")
{
    CHECK(printable("") == "");
    CHECK(printable("orders/42 ~!") == "orders/42 ~!");
    CHECK(printable("Größe € 日本 😀") == "Größe € 日本 😀");
}

TEST_CASE("a terminal's control characters are escaped", "[base][text]")
{
    CHECK(printable("a\nb\rc\td") == "a\\nb\\rc\\td");
    CHECK(printable("\x1b[2J\x7f") == "\\x1b[2J\\x7f");
    CHECK(printable("a\0b"sv) == "a\\x00b");
    CHECK(printable("\xc2\x9b"
                    "31m") == "\\xc2\\x9b31m");             // CSI as one character
    CHECK(printable("\xe2\x80\xa8") == "\\xe2\\x80\\xa8");  // line separator
    CHECK(printable("\xe2\x80\xae"
                    "gpj") == "\\xe2\\x80\\xaegpj");        // right to left from here
    CHECK(printable("\xe2\x81\xa6") == "\\xe2\\x81\\xa6");  // isolate
}

TEST_CASE("a backslash cannot be mistaken for an escape", "[base][text]")
{
    CHECK(printable("\\n") == "\\\\n");
    CHECK(printable("\n") != printable("\\n"));
}

TEST_CASE("bytes that are no UTF-8 are escaped one by one", "[base][text]")
{
    CHECK(printable("\x80") == "\\x80");                    // continuation without a lead
    CHECK(printable("a\xc3") == "a\\xc3");                  // cut off at the end
    CHECK(printable("\xe2\x82z") == "\\xe2\\x82z");         // cut off by another
    CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");           // overlong
    CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");  // overlong
    CHECK(printable("\xf0\x80\x80\xaf") == "\\xf0\\x80\\x80\\xaf");
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
    CHECK(printable("\xff\xfe") == "\\xff\\xfe");
    CHECK(printable("\xf4\x8f\xbf\xbd") == "\xf4\x8f\xbf\xbd");  // the highest plane is text
}

TEST_CASE("every pair of bytes comes out safe and distinct", "[base][text]")
{
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    std::set<std::string> seen;
    for (int high = 0; high < 256; ++high) {
        for (int low = 0; low < 256; ++low) {
            const std::string text{static_cast<char>(high), static_cast<char>(low)};
            const std::string out = printable(text);
            REQUIRE(std::none_of(out.begin(), out.end(), is_control));
            REQUIRE(seen.insert(out).second);
        }
    }
}

TEST_CASE("a length of time appears in whole seconds or else in milliseconds", "[base]")
{
    using namespace std::chrono_literals;
    CHECK(duration_text(50ms) == "50 ms");
    CHECK(duration_text(1s) == "1 s");
    CHECK(duration_text(90min) == "5400 s");
    CHECK(duration_text(1500ms) == "1500 ms");
    CHECK(duration_text(0ms) == "0 s");
}
