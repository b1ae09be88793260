#include "base/owner_token.hpp"
#include "base/system_entropy.hpp"
#include "support/tier.hpp"

#include <catch2/catch_test_macros.hpp>

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

using redlock::base::entropy;
using redlock::base::owner_token;
using redlock::base::system_entropy;
using redlock::test::plays_a_part;

namespace {

template <class T>
concept streamable = requires(std::ostream& out, const T& value)
{
    out << value;
};

static_assert(!streamable<owner_token>);

struct broken_entropy final : entropy {
    bool fill(std::span<std::byte>) noexcept override { return false; }
};

struct counting_entropy final : entropy {
    bool fill(std::span<std::byte> out) noexcept override
    {
        ++calls;
        std::fill(out.begin(), out.end(), std::byte{0xa5});
        return true;
    }

    int calls = 0;
};

volatile std::sig_atomic_t alarms = 0;

/// Interrupts this process every millisecond while an object lives.
class frequent_alarm {
public:
    frequent_alarm()
    {
        alarms = 0;
        struct sigaction count {};
        count.sa_handler = [](int) { alarms = alarms + 1; };
        ::sigaction(SIGALRM, &count, &before_);
        const itimerval every{{0, 1000}, {0, 1000}};
        ::setitimer(ITIMER_REAL, &every, nullptr);
    }

    frequent_alarm(const frequent_alarm&) = delete;
    frequent_alarm& operator=(const frequent_alarm&) = delete;

    ~frequent_alarm()
    {
        const itimerval never{};
        ::setitimer(ITIMER_REAL, &never, nullptr);
        ::sigaction(SIGALRM, &before_, nullptr);
    }

private:
    struct sigaction before_ {};
};

/// Reads until the other side closes or `size` bytes have come.
std::string read_some(int from, std::size_t size)
{
    std::string text(size, '\0');
    std::size_t have = 0;
    while (have < size) {
        const ssize_t got = ::read(from, text.data() + have, size - have);
        if (got <= 0) {
            break;
        }
        have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
}

/// Makes a token in a child process, which may only make async-signal-safe calls.
std::string token_of_a_fork(system_entropy& source)
{
    int ends[2];
    if (::pipe(ends) != 0) {
        return {};
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const auto token = owner_token::make(source);
        const bool written = token && ::write(ends[1], token->view().data(), owner_token::size) ==
                                          static_cast<ssize_t>(owner_token::size);
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text = child > 0 ? read_some(ends[0], owner_token::size) : std::string{};
    ::close(ends[0]);
    if (child > 0) {
        ::waitpid(child, nullptr, 0);
    }
    return text;
}

}  // namespace

TEST_CASE("a token shows its bytes as lower-case digits with the high half first",
          "[base][owner_token]")
{
    std::array<std::byte, owner_token::raw_size> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(i * 13);
    }
    CHECK(owner_token::from_bytes(bytes).view() == "000d1a2734414e5b6875828f9ca9b6c3d0ddeaf7");

    bytes.fill(std::byte{0xff});
    CHECK(owner_token::from_bytes(bytes).view() == std::string(40, 'f'));
}

TEST_CASE("a token is parsed back to itself", "[base][owner_token]")
{
    system_entropy source;
    const auto token = owner_token::make(source);
    REQUIRE(token);
    CHECK(*token != owner_token{});
    CHECK(owner_token::parse(token->view()) == token);
}

TEST_CASE("only 40 lower-case hexadecimal digits are a token", "[base][owner_token]")
{
    const std::string good = "0123456789abcdef0123456789abcdef01234567";
    REQUIRE(owner_token::parse(good));
    CHECK(owner_token::parse(good)->view() == good);

    CHECK_FALSE(owner_token::parse(""));
    CHECK_FALSE(owner_token::parse(good.substr(1)));
    CHECK_FALSE(owner_token::parse(good + "0"));
    for (std::size_t i = 0; i < good.size(); ++i) {
        for (const char wrong : {'g', 'A', 'F', '/', ':', '`', ' ', '\n', '\0', '\xff'}) {
            std::string text = good;
            text[i] = wrong;
            CHECK_FALSE(owner_token::parse(text));
        }
    }
}

TEST_CASE("a token without entropy is not made", "[base][owner_token]")
{
    broken_entropy source;
    CHECK_FALSE(owner_token::make(source));
}

TEST_CASE("each token asks the source of entropy once", "[base][owner_token]")
{
    counting_entropy source;
    REQUIRE(owner_token::make(source));
    REQUIRE(owner_token::make(source));
    CHECK(source.calls == 2);
}

TEST_CASE("a default token is empty and differs from every made one", "[base][owner_token]")
{
    const owner_token none;
    CHECK(none == owner_token{});
    CHECK_FALSE(owner_token::parse(none.view()));
    CHECK(none != owner_token::from_bytes(std::array<std::byte, owner_token::raw_size>{}));
}

TEST_CASE("the system's entropy fills every byte of any length", "[base][system_entropy]")
{
    system_entropy source;
    CHECK(source.fill({}));

    // Beyond 256 bytes the kernel may return less than the request.
    std::vector<std::byte> bytes(1 << 20);
    REQUIRE(source.fill(bytes));
    std::array<int, 256> counts{};
    for (const std::byte b : std::span{bytes}.last(bytes.size() / 2)) {
        ++counts[std::to_integer<std::size_t>(b)];
    }
    // 2048 are expected of each value. A quarter of that is some 34 standard deviations away.
    CHECK(*std::min_element(counts.begin(), counts.end()) > 512);
}

TEST_CASE("a token has no gap although signals cut the kernel's answers short",
          "[base][system_entropy]")
{
    system_entropy source;
    std::vector<std::byte> bytes(16 << 20);
    const frequent_alarm alarm;
    while (alarms < 5) {
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
        REQUIRE(source.fill(bytes));
        const auto end = std::span{bytes}.last(64);
        REQUIRE(std::any_of(end.begin(), end.end(), [](std::byte b) { return b != std::byte{}; }));
    }
}

TEST_CASE("p37: 1000 forks make no token twice", "[base][owner_token][pitfall][p37]")
{
    system_entropy source;
    std::set<std::string> tokens;
    // A fork of a process with a sanitizer copies the tables of a shadow memory.
    const std::size_t forks = plays_a_part() ? 100 : 1000;
    for (std::size_t i = 0; i < forks; ++i) {
        const auto own = owner_token::make(source);
        REQUIRE(own);
        REQUIRE(tokens.emplace(own->view()).second);

        const std::string text = token_of_a_fork(source);
        REQUIRE(owner_token::parse(text));
        REQUIRE(tokens.insert(text).second);
    }
    CHECK(tokens.size() == 2 * forks);
}
