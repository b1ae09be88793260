#include "corpus.hpp"
#include "reading.hpp"

#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::resp;
using namespace redlock::test;

namespace {

using generator = std::mt19937_64;

std::size_t below(generator& g, std::size_t n)
{
    return static_cast<std::size_t>(g() % n);
}

std::string mutated(generator& g, std::string bytes)
{
    constexpr std::string_view alphabet =
        "+-:$*_#,!=(%~|>;.?\r\n0123456789ex \0"
        "\xff";
    for (std::size_t times = below(g, 6); times != 0; --times) {
        const std::size_t at = below(g, bytes.size() + 1);
        const std::size_t length = std::min(below(g, 8), bytes.size() - at);
        switch (below(g, 4)) {
            case 0: bytes.erase(at, length); break;
            case 1: bytes.insert(at, 1, alphabet[below(g, alphabet.size())]); break;
            case 2: bytes.insert(at, bytes.substr(below(g, bytes.size() + 1), length)); break;
            default:
                if (at != bytes.size()) {
                    bytes[at] = alphabet[below(g, alphabet.size())];
                }
        }
    }
    return bytes;
}

std::vector<std::string_view> cut_at_random(generator& g, std::string_view bytes)
{
    std::vector<std::string_view> pieces;
    while (!bytes.empty()) {
        const std::size_t size = 1 + below(g, bytes.size());
        pieces.push_back(bytes.substr(0, size));
        bytes.remove_prefix(size);
    }
    return pieces;
}

/// Reads all bytes and returns the number of replies. Checks that each reply took bytes, and that
/// the bytes limit the memory.
std::size_t read_and_bound(std::string_view bytes)
{
    const std::uint64_t before = allocated_here().bytes;
    reader reader;
    reader.feed(bytes);
    reply r;
    std::size_t replies = 0;
    while (reader.next(r) == read_status::ready) {
        ++replies;
    }
    const std::uint64_t took = allocated_here().bytes - before;
    // The shortest reply has three bytes. A node has 32, and memory doubles.
    if (replies > bytes.size() / 3) {
        FAIL("more replies than bytes can give");
    }
    if (took > 32 * bytes.size() + 4096) {
        FAIL("took " << took << " bytes for " << bytes.size());
    }
    return replies;
}

}  // namespace

TEST_CASE("a reader gives the same for mutated replies in any pieces and in bounded memory",
          "[resp]")
{
    generator g(20240607);
    const std::vector<std::string> seeds = good_streams();
    std::size_t replies = 0;
    std::size_t errors = 0;
    for (int i = 0; i < 150'000; ++i) {
        std::string bytes = seeds[below(g, seeds.size())];
        if (below(g, 3) == 0) {
            bytes += seeds[below(g, seeds.size())];
        }
        bytes = mutated(g, std::move(bytes));
        const auto p = static_cast<protocol>(below(g, 3));
        const readings whole = read_whole(bytes, p);
        const readings pieces = read_pieces(cut_at_random(g, bytes), p);
        if (!bytes.empty() && pieces != whole) {
            FAIL("input " << i << ": " << bytes);
        }
        if ((whole.end == read_status::error) != (whole.error != parse_error::none)) {
            FAIL("input " << i);
        }
        replies += read_and_bound(bytes);
        errors += whole.end == read_status::error ? 1 : 0;
    }
    // If all replies were broken or whole, the test would test nothing.
    CHECK(replies > 50'000);
    CHECK(errors > 20'000);
}

TEST_CASE("a reader survives random bytes", "[resp]")
{
    generator g(42);
    constexpr std::string_view likely = "+-:$*_#,!=(%~|>\r\n01234";
    for (int i = 0; i < 100'000; ++i) {
        std::string bytes(below(g, 40), '\0');
        for (char& c : bytes) {
            c = below(g, 8) == 0 ? static_cast<char>(g() & 0xffU) : likely[below(g, likely.size())];
            if (c == '\r' && below(g, 2) == 0) {
                c = '\n';
            }
        }
        for (std::size_t at; (at = bytes.find('\n')) != std::string::npos;) {
            bytes.replace(at, 1, "\r\f");
        }
        std::replace(bytes.begin(), bytes.end(), '\f', '\n');
        (void)read_and_bound(bytes);
        const readings whole = read_whole(bytes);
        if (!bytes.empty() && read_pieces(cut_every(bytes, 1)) != whole) {
            FAIL("input " << i << ": " << bytes);
        }
    }
}
