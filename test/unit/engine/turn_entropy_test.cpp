#include "engine/turn_entropy.hpp"
#include "base/owner_token.hpp"
#include "base/system_entropy.hpp"

#include <catch2/catch_test_macros.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using redlock::base::entropy;
using redlock::base::owner_token;
using redlock::base::system_entropy;
using redlock::engine::turn_entropy;

namespace {

/// Numbers of eight bytes, each of them once.
struct numbered_entropy final : entropy {
    bool fill(std::span<std::byte> out) noexcept override
    {
        if (broken) {
            return false;
        }
        asked.push_back(out.size());
        for (; out.size() >= sizeof next; out = out.subspan(sizeof next), ++next) {
            std::memcpy(out.data(), &next, sizeof next);
        }
        return out.empty();
    }

    std::vector<std::size_t> asked;
    std::uint64_t next = 1;
    bool broken = false;
};

constexpr std::size_t size = sizeof(std::uint64_t);

std::uint64_t draw(entropy& from)
{
    std::array<std::byte, size> bytes{};
    REQUIRE(from.fill(bytes));
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), size);
    return number;
}

/// The pages that are empty in a forked child and missing from core dumps, if the system has them.
std::vector<std::span<const std::byte>> guarded_pages()
{
    std::vector<std::span<const std::byte>> all;
    std::ifstream maps("/proc/self/smaps");
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    for (std::string line; std::getline(maps, line);) {
        char dash = 0;
        std::istringstream words(line);
        if (line.starts_with("VmFlags:")) {
            if (line.find(" wf") != line.npos && line.find(" dd") != line.npos) {
                // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is read from a file.
                all.emplace_back(reinterpret_cast<const std::byte*>(begin), end - begin);
            }
        } else if (line.find(':') > line.find(' ')) {
            words >> std::hex >> begin >> dash >> end;
        }
    }
    return all;
}

/// Whether these pages have the number at any place.
bool is_kept(std::uint64_t number)
{
    std::array<std::byte, size> bytes{};
    std::memcpy(bytes.data(), &number, size);
    const auto pages = guarded_pages();
    return std::any_of(pages.begin(), pages.end(), [&](std::span<const std::byte> p) {
        return !std::ranges::search(p, bytes).empty();
    });
}

std::set<std::uint64_t> turn(turn_entropy& draws, unsigned times)
{
    std::set<std::uint64_t> all;
    for (unsigned i = 0; i < times; ++i) {
        all.insert(draw(draws));
    }
    draws.end_turn();
    return all;
}

}  // namespace

TEST_CASE("a turn asks the source once for as much as the last turn drew", "[turn_entropy]")
{
    numbered_entropy source;
    turn_entropy draws(source);
    turn(draws, 64);
    source.asked.clear();

    turn(draws, 64);
    CHECK(source.asked == std::vector<std::size_t>{64 * size});
    // Turns in between that draw nothing do not count.
    draws.end_turn();
    turn(draws, 10);
    CHECK(source.asked == std::vector<std::size_t>{64 * size, 64 * size});
}

TEST_CASE("a turn that draws more than the last one doubles each request", "[turn_entropy]")
{
    numbered_entropy source;
    turn_entropy draws(source);
    turn(draws, 64);
    CHECK(source.asked.size() <= 7);
    CHECK(std::reduce(source.asked.begin(), source.asked.end()) <= 2 * 64 * size);
}

TEST_CASE("a draw outside a turn asks for its own bytes only", "[turn_entropy]")
{
    numbered_entropy source;
    turn_entropy draws(source);
    for (int i = 0; i < 3; ++i) {
        turn(draws, 1);
    }
    CHECK(source.asked == std::vector<std::size_t>(3, size));
}

TEST_CASE("no bytes are drawn twice and none outlive the turn that drew them", "[turn_entropy]")
{
    numbered_entropy source;
    turn_entropy draws(source);
    std::set<std::uint64_t> before;
    for (const unsigned times : {5U, 300U, 1U, 64U, 7U, 64U, 0U, 12U}) {
        const std::uint64_t first = source.next;
        const std::set<std::uint64_t> drawn = turn(draws, times);
        CHECK(drawn.size() == times);
        CHECK(std::all_of(drawn.begin(), drawn.end(),
                          [&](std::uint64_t n) { return n >= first && before.insert(n).second; }));
    }
}

TEST_CASE("a draw that is longer than the reserve comes from the source itself", "[turn_entropy]")
{
    numbered_entropy source;
    turn_entropy draws(source);
    std::vector<std::byte> bytes(turn_entropy::most);
    REQUIRE(draws.fill(bytes));
    bytes.resize(turn_entropy::most + size);
    REQUIRE(draws.fill(bytes));
    CHECK(source.asked == std::vector<std::size_t>{turn_entropy::most, turn_entropy::most + size});
}

TEST_CASE("a source that fails makes the draw fail", "[turn_entropy]")
{
    numbered_entropy source;
    turn_entropy draws(source);
    turn(draws, 4);
    const std::uint64_t drawn = draw(draws);

    // The reserve is used up first, and then draws fail.
    source.broken = true;
    for (std::uint64_t n = 1; n < 4; ++n) {
        const std::uint64_t next = draw(draws);
        CHECK(next != drawn);
    }
    std::array<std::byte, size> bytes{};
    CHECK_FALSE(draws.fill(bytes));
    CHECK_FALSE(draws.fill(bytes));

    source.broken = false;
    CHECK(draw(draws) > drawn);
}

TEST_CASE("a reserve that is too short does not complete a draw if the source fails",
          "[turn_entropy]")
{
    numbered_entropy source;
    turn_entropy draws(source);
    turn(draws, 2);
    (void)draw(draws);

    source.broken = true;
    std::array<std::byte, size + 1> longer{};
    CHECK_FALSE(draws.fill(longer));
    std::array<std::byte, size> bytes{};
    CHECK_FALSE(draws.fill(bytes));
}

TEST_CASE("neither a child process nor a core dump has the unused reserve", "[turn_entropy]")
{
    // Large enough that other numbers do not look like them.
    numbered_entropy source;
    source.next = 0x5eed'0000'1111'2222;
    turn_entropy draws(source);
    turn(draws, 4);
    const std::uint64_t first = source.next;
    const std::uint64_t drawn = draw(draws);
    CHECK_FALSE(is_kept(drawn));
    int kept = 0;
    for (std::uint64_t n = first; n < source.next; ++n) {
        kept += is_kept(n) ? 1 : 0;
    }
    CHECK(kept == 3);

    draws.end_turn();
    for (std::uint64_t n = first; n < source.next; ++n) {
        CHECK_FALSE(is_kept(n));
    }
}

TEST_CASE("a turn without such pages keeps no reserve", "[turn_entropy]")
{
    const pid_t child = ::fork();
    if (child == 0) {
        numbered_entropy source;
        source.asked.reserve(16);
        const rlimit none{0, 0};
        bool well = ::setrlimit(RLIMIT_AS, &none) == 0;
        turn_entropy draws(source);
        std::array<std::byte, size> bytes{};
        for (int i = 0; i < 8; ++i) {
            well = draws.fill(bytes) && well;
            if (i == 3) {
                draws.end_turn();
            }
        }
        well = well && source.asked.size() == 8 && source.asked.front() == size &&
               source.asked.back() == size;
        ::_exit(well ? 0 : 1);
    }
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("a child that is forked within a turn draws other bytes", "[turn_entropy][p37]")
{
    system_entropy source;
    turn_entropy draws(source);
    const auto draw_some = [&](std::span<owner_token> tokens) {
        return std::all_of(tokens.begin(), tokens.end(), [&](owner_token& t) {
            const auto made = owner_token::make(draws);
            t = made.value_or(t);
            return made.has_value();
        });
    };
    std::array<owner_token, 8> own;
    REQUIRE(draw_some(own));
    draws.end_turn();
    REQUIRE(draw_some(std::span(own).first(1)));

    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::array<owner_token, 8> tokens;
        bool done = draw_some(tokens);
        for (const owner_token& t : tokens) {
            done = done && ::write(ends[1], t.view().data(), owner_token::size) ==
                               static_cast<ssize_t>(owner_token::size);
        }
        ::_exit(done ? 0 : 1);
    }
    ::close(ends[1]);
    REQUIRE(child > 0);
    REQUIRE(draw_some(std::span(own).subspan(1)));
    std::set<std::string> all;
    for (const owner_token& t : own) {
        all.emplace(t.view());
    }
    std::array<char, owner_token::size> text{};
    while (::read(ends[0], text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
        all.emplace(text.data(), text.size());
    }
    ::close(ends[0]);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(all.size() == 16);
}
