#include "support/masters.hpp"
#include "support/run.hpp"

#include <redlock/client.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// The memory that this process uses now.
std::ptrdiff_t resident_kib()
{
    std::ifstream status("/proc/self/status");
    std::ptrdiff_t kib = 0;
    for (std::string word; status >> word;) {
        if (word == "VmRSS:") {
            status >> kib;
        }
    }
    return kib;
}

/// Repeats a cycle: takes a lock, extends it, and releases or drops it.
class worker {
public:
    worker(client& locks, std::string resource, std::size_t& done)
        : locks_(locks),
          resource_(std::move(resource)),
          done_(done)
    {}

    void start()
    {
        locks_.async_acquire(resource_, options, [this](error_code ec, lock l) {
            if (ec) {
                next();
                return;
            }
            held_ = std::move(l);
            locks_.async_extend(held_, options.ttl, [this](error_code) { give_back(); });
        });
    }

private:
    static constexpr acquire_options options{.ttl = 60s, .timeout = never};

    void give_back()
    {
        if (done_ % 2 == 0) {
            held_ = {};
            next();
            return;
        }
        locks_.async_release(std::move(held_), [this](error_code, release_result) { next(); });
    }

    void next()
    {
        ++done_;
        start();
    }

    client& locks_;
    std::string resource_;
    std::size_t& done_;
    lock held_;
};

}  // namespace

TEST_CASE("the memory of a client does not grow with the number of its cycles", "[endurance]")
{
    constexpr std::size_t warm_up = 50'000;
    constexpr std::size_t stopped_for = 5'000;
    constexpr std::size_t cycles = 170'000;  // a million in all
    // A leak of the smallest block in every fourth cycle would have this size. The test takes the
    // median, because a node may lag more than ever before.
    constexpr std::ptrdiff_t leeway_kib = 8 * cycles / 1024;
    // The growth of the window with the least growth, because a leak that happens now and then
    // shows in each window. On a busy machine nodes may lag in all of the first windows.
    constexpr std::ptrdiff_t least_leeway_kib = 64;
    constexpr std::size_t windows = 5;
    constexpr std::size_t most_windows = 15;
    std::vector<std::ptrdiff_t> growth;
    masters nodes(5);
    boost::asio::io_context context{1};
    config c;
    c.nodes = nodes.urls();
    // Short, because this time bounds the memory that the client keeps for a node that lags. If a
    // busy machine makes an attempt too slow, the acquire makes another one.
    c.node_timeout = 20ms;
    c.thread_safe = GENERATE(false, true);
    client locks(context, c);
    locks.async_run(boost::asio::detached);
    std::size_t done = 0;
    std::deque<worker> workers;
    for (int i = 0; i < 64; ++i) {
        // Fewer names than workers, so that some workers have to wait.
        workers.emplace_back(locks, "r" + std::to_string(i % 60), done).start();
    }
    // The test counts as hung when a thousand cycles do not end within `patience`.
    const auto reach = [&](std::size_t count) {
        while (done < count) {
            const auto next = std::min(count, done + 1000);
            REQUIRE(run_until(context, [&] { return done >= next; }));
        }
    };
    reach(warm_up);
    // The node timeout bounds the commands that a lagging node has not answered, and the client
    // keeps their memory. From now on a node rarely lags more than one did before.
    for (std::size_t i = 0; i < 2 * nodes.size(); ++i) {
        server& one = nodes[i % nodes.size()];
        server& other = nodes[(i + 1) % nodes.size()];
        one.stop();
        other.stop();
        reach(done + stopped_for);
        one.cont();
        other.cont();
        reach(done + stopped_for);
    }
    auto before = resident_kib();
    REQUIRE(before > 0);
    const auto is_flat = [&] { return *std::ranges::min_element(growth) <= least_leeway_kib; };
    while (growth.size() < windows || (growth.size() < most_windows && !is_flat())) {
        reach(done + cycles);
        const auto now = resident_kib();
        growth.push_back(now - std::exchange(before, now));
    }
    CHECK(locks.stats().acquired > growth.size() * cycles / 2);
    CAPTURE(growth);
    CHECK(is_flat());
    std::ranges::sort(growth);
    CHECK(growth[growth.size() / 2] <= leeway_kib);
}
