#include "base/wipe.hpp"
#include "base/address.hpp"
#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

using namespace redlock;
using namespace redlock::base;
using namespace redlock::test;

namespace {

constexpr std::string_view word = "a password that is long enough for the heap";

}  // namespace

TEST_CASE("a wiped text is gone and its storage remains", "[base][wipe]")
{
    std::string text(word);
    const char* const at = text.data();
    wipe(text);
    CHECK(text.empty());
    CHECK(text.data() == at);
    CHECK(std::all_of(at, at + word.size(), [](char c) { return c == '\0'; }));
}

TEST_CASE("a secret leaves no copy after any copy or move", "[base][wipe]")
{
    const freed_with freed(word);
    {
        secret first;
        first.buffer() = word;
        secret second = std::move(first);
        secret third;
        third = second;
        second = secret();
        CHECK(second.empty());
        first = std::move(third);
        CHECK(first.view() == word);
    }
    CHECK(freed.blocks() == 0);
    {
        const std::string plain(word);
    }
    CHECK(freed.blocks() == 1);
}

TEST_CASE("a URL that is read leaves no password in memory", "[base][wipe][address]")
{
    const std::string url = "redis://u:" + std::string(word.size(), 'x') + "%40@10.0.0.1/";
    const std::string password = std::string(word.size(), 'x') + '@';
    const std::string part = password.substr(0, 20);
    const freed_with freed(part);
    for (const char* const database : {"3", "none"}) {
        std::string whole;
        whole.reserve(200);
        whole.append(url).append(database);
        const auto parsed = parse_address(whole);
        if (const auto* const good = std::get_if<address>(&parsed)) {
            const address copy = *good;
            CHECK(copy.password.view() == password);
        }
        wipe(whole);
    }
    CHECK(freed.blocks() == 0);
}
