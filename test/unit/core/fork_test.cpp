#include "base/system_entropy.hpp"
#include "engine/turn_entropy.hpp"
#include "harness.hpp"
#include "support/tier.hpp"

#include <catch2/catch_test_macros.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A program's client with the system's entropy, and a lock that is never free.
class refused_client {
public:
    refused_client() : w_(1, config_of())
    {
        w_.core = std::make_unique<core::client_core>(w_.settings, draws_, w_.date);
        w_.start();
        w_.peers[0]->master.put("r", {.value = "a stranger's", .end = {}});
    }

    /// How long the client waits before it tries again.
    [[nodiscard]] std::int64_t first_wait()
    {
        (void)w_.acquire("r", {.timeout = longest});
        return (w_.core->next_deadline() - w_.now).count();
    }

    static constexpr auto longest = 24h;

private:
    static redlock::config config_of()
    {
        redlock::config c;
        c.release_notifications = false;
        c.backoff_min = c.backoff_max = longest;
        c.stall_timeout = longest;
        c.ping_interval = 0s;
        return c;
    }

    base::system_entropy system_;
    engine::turn_entropy draws_{system_};
    bench_world w_;
};

/// The result of a fork of this process.
template <class What>
std::optional<std::int64_t> in_a_fork(What what)
{
    int ends[2];
    if (::pipe(ends) != 0) {
        return std::nullopt;
    }
    std::int64_t result = 0;
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            result = what();
        } catch (...) {
            ::_exit(2);
        }
        const bool written = ::write(ends[1], &result, sizeof result) == sizeof result;
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    const bool read = child > 0 && ::read(ends[0], &result, sizeof result) == sizeof result;
    ::close(ends[0]);
    if (child > 0) {
        ::waitpid(child, nullptr, 0);
    }
    return read ? std::optional{result} : std::nullopt;
}

}  // namespace

TEST_CASE("p37: 1000 forks of a refused client wait for different times", "[core][pitfall][p37]")
{
    refused_client before;
    std::set<std::int64_t> waits;
    const int forks = plays_a_part() ? 100 : 1000;
    for (int i = 0; i < forks; ++i) {
        const auto wait = in_a_fork(
            [&] { return i % 2 == 0 ? before.first_wait() : refused_client().first_wait(); });
        REQUIRE(wait);
        REQUIRE(waits.insert(*wait).second);
    }
    // The waits are random within the whole span. A quarter has 250 of 1000 waits on average, and
    // 150 are more than seven standard deviations away. A quarter has 25 of 100 waits, and at most
    // one is more than five standard deviations away.
    const auto least = plays_a_part() ? 1 : 150;
    const std::int64_t quarter = nanos{refused_client::longest}.count() / 4;
    for (std::int64_t n = 0; n < 4; ++n) {
        const auto first = waits.lower_bound(n * quarter);
        CHECK(std::distance(first, waits.lower_bound((n + 1) * quarter)) > least);
    }
}
