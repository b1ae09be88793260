#include "resp/error_text.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>

using namespace redlock::resp;

namespace {

std::string cleaned(std::string_view text)
{
    return clean_error(text, {});
}

}  // namespace

TEST_CASE("an error's code is its first word in capitals", "[resp]")
{
    CHECK(error_code_word("NOSCRIPT No matching script.") == "NOSCRIPT");
    CHECK(error_code_word("ERR unknown command") == "ERR");
    CHECK(error_code_word("OOM") == "OOM");
    CHECK(error_code_word("").empty());
    CHECK(error_code_word(" ERR").empty());
    CHECK(error_code_word("Err x").empty());
    CHECK(error_code_word("ERR: x").empty());
    CHECK(error_code_word("unknown").empty());
    CHECK(error_code_word("NO such thing").empty());
}

TEST_CASE("an error text hides arguments that a server repeats", "[resp]")
{
    // As Redis 5 and 6, Redis 7, and others write it.
    CHECK(cleaned("ERR unknown command `EVALSHA`, with args beginning with: `f0`, `1`, `key`, ") ==
          "ERR unknown command `EVALSHA`");
    CHECK(cleaned(
              "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'u' 'hunter2' ") ==
          "ERR unknown command 'HELLO'");
    CHECK(cleaned("ERR no such command 'X' (args: 'hunter2')") == "ERR no such command 'X'");
    CHECK(cleaned("ERR bad thing, with args hunter2 and with args beginning with: x") ==
          "ERR bad thing");
    CHECK(cleaned("with args beginning with: hunter2").empty());
    CHECK(cleaned("ERR Unknown Redis command called from script") ==
          "ERR Unknown Redis command called from script");
    CHECK(cleaned("").empty());
}

TEST_CASE("an error text hides anything that looks like an owner token", "[resp]")
{
    const std::string token = "0123456789abcdef0123456789abcdef01234567";
    CHECK(cleaned("ERR value is " + token) == "ERR value is [...]");
    CHECK(cleaned("ERR '" + token + "' and " + token + ".") == "ERR '[...]' and [...].");
    CHECK(cleaned("ERR " + token.substr(0, 20)) == "ERR [...]");
    CHECK(cleaned(token) == "[...]");
    CHECK(cleaned("ERR deadbeef 123456789012345") == "ERR deadbeef 123456789012345");

    // For every place of the cut, no part of a token is left at the end.
    for (std::size_t before = 200; before < 300; ++before) {
        const std::string shown = cleaned(std::string(before, '.') + token);
        CHECK(shown.find("0123") == std::string::npos);
    }
}

TEST_CASE("an error text hides a password that a server repeats", "[resp]")
{
    CHECK(clean_error("ERR opensesame is no key, opensesame!", "opensesame") ==
          "ERR [...] is no key, [...]!");
    CHECK(clean_error("opensesame", "opensesame") == "[...]");
    CHECK(clean_error("ERR open", "opensesame") == "ERR open");

    // Hiding a password that is as short as a usual word would reveal it by the gap.
    CHECK(clean_error("ERR no such key", "key") == "ERR no such key");
    CHECK(clean_error("ERR no such key", "such k") == "ERR no [...]ey");

    // For every place of the cut, no part of it is left at the end.
    for (std::size_t before = 200; before < 300; ++before) {
        const std::string shown =
            clean_error(std::string(before, '.') + "opensesame", "opensesame");
        CHECK(shown.find("open") == std::string::npos);
    }
}

TEST_CASE("an error text is short and printable and valid UTF-8", "[resp]")
{
    CHECK(cleaned(std::string(10'000, 'z')) == std::string(253, 'z') + "...");
    CHECK(cleaned(std::string(257, 'z')) == std::string(253, 'z') + "...");
    CHECK(cleaned(std::string(256, 'z')) == std::string(256, 'z'));

    const std::string shown = cleaned("ERR \x1b[31mred\r\n\x7f\x01 \xff\xc3(");
    for (const char c : shown) {
        CHECK((c >= ' ' && c <= '~'));
    }
    CHECK(shown.starts_with("ERR "));
    CHECK(shown.find("[31mred") != std::string::npos);

    std::string umlauts;
    for (int i = 0; i < 200; ++i) {
        umlauts += "\xc3\xbc";
    }
    CHECK(cleaned("M" + umlauts) == "M" + umlauts.substr(0, 252) + "...");
    CHECK(cleaned(umlauts) == umlauts.substr(0, 252) + "...");
    CHECK(cleaned(std::string(10'000, '\x01')).size() <= 256);
}

TEST_CASE("p49: an error code counts only at the places where servers write codes",
          "[resp][pitfall][p49]")
{
    CHECK(has_code("ASK 3999 127.0.0.1:6381", "ASK"));
    CHECK(has_code("READONLY", "READONLY"));
    CHECK(has_code("ERR READONLY replica", "READONLY"));
    CHECK(
        has_code("ERR Error running script (call to f_1): @user_script:1: @user_script: 1: "
                 "-READONLY You can't write against a read only replica.",
                 "READONLY"));
    CHECK(
        has_code("ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation "
                 "against a key holding the wrong kind of value",
                 "WRONGTYPE"));
    CHECK_FALSE(has_code("ERR not here: BUSY thing", "BUSY"));
    CHECK_FALSE(has_code("ERR please ASK your administrator", "ASK"));
    CHECK_FALSE(has_code("ERR the node is LOADING", "LOADING"));
    CHECK_FALSE(has_code("ERR READONLYX", "READONLY"));
    CHECK_FALSE(has_code("ERR non-BUSY thing", "BUSY"));
    CHECK_FALSE(has_code("ASKING", "ASK"));
    CHECK_FALSE(has_code("readonly", "READONLY"));
}
