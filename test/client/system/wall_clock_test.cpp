#include "client/system/clocks.hpp"
#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/scripted_server.hpp"

#include <redlock/clock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <memory>

#include <sys/time.h>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

/// Far less than the steps of the clocks, far more than the duration of a test.
constexpr auto leeway = 20min;

/// The part of a ttl that the client subtracts for the drift of clocks.
constexpr std::chrono::milliseconds drift(std::chrono::milliseconds ttl)
{
    return ttl / 100 + 2ms;
}

bool is_about(std::chrono::nanoseconds value, std::chrono::nanoseconds wanted)
{
    return value > wanted - leeway && value < wanted + leeway;
}

/// Three nodes that answer all received commands on request, and no others.
class slow_nodes {
public:
    explicit slow_nodes(const scripted_connection::answerer& answer = obedient)
    {
        for (int i = 0; i < 3; ++i) {
            all_.push_back(std::make_unique<scripted_server>(
                [this, answer](scripted_connection& peer) -> asio::awaitable<void> {
                    // Named outside of co_await, where GCC 12 destroys some temporaries twice.
                    const std::function<bool()> may_go_on = [this] { return answering_.load(); };
                    for (;;) {
                        const auto command = co_await peer.read_command();
                        co_await peer.until(may_go_on);
                        std::string bytes = answer(command).value_or("");
                        co_await peer.send(std::move(bytes));
                    }
                }));
        }
    }

    void hold() { answering_ = false; }
    void answer() { answering_ = true; }

    [[nodiscard]] std::vector<std::string> urls() const
    {
        std::vector<std::string> result;
        for (const auto& each : all_) {
            result.push_back(each->url());
        }
        return result;
    }

    /// Whether every node has received `count` commands about a resource.
    [[nodiscard]] bool were_asked(const std::string& resource, std::ptrdiff_t times) const
    {
        return std::all_of(all_.begin(), all_.end(), [&](const auto& each) {
            const auto all = each->commands();
            return times == std::count_if(all.begin(), all.end(), [&](const arguments& command) {
                       return std::find(command.begin(), command.end(), resource) != command.end();
                   });
        });
    }

private:
    std::atomic<bool> answering_{true};
    std::vector<std::unique_ptr<scripted_server>> all_;
};

}  // namespace

TEST_CASE("a test can move the program's wall clocks while the monotonic one is unchanged",
          "[system]")
{
    const auto by = GENERATE(+1h, -1h);
    const auto system = std::chrono::system_clock::now();
    const auto second = std::time(nullptr);
    timeval day{};
    ::gettimeofday(&day, nullptr);
    const auto monotonic = std::chrono::steady_clock::now();
    const auto boot = boot_clock::now();
    const auto moved = [&] {
        struct {
            std::chrono::nanoseconds system, seconds, day, monotonic, boot;
        } result{};
        timeval now{};
        ::gettimeofday(&now, nullptr);
        result.system = std::chrono::system_clock::now() - system;
        result.seconds = std::chrono::seconds(std::time(nullptr) - second);
        result.day = std::chrono::seconds(now.tv_sec - day.tv_sec);
        result.monotonic = std::chrono::steady_clock::now() - monotonic;
        result.boot = boot_clock::now() - boot;
        return result;
    };
    {
        clocks machine;
        machine.step_system_time(by);
        const auto stepped = moved();
        CHECK(is_about(stepped.system, by));
        CHECK(is_about(stepped.seconds, by));
        CHECK(is_about(stepped.day, by));
        CHECK(is_about(stepped.monotonic, 0h));
        CHECK(is_about(stepped.boot, 0h));

        machine.suspend(3h);
        const auto suspended = moved();
        CHECK(is_about(suspended.system, by + 3h));
        CHECK(is_about(suspended.monotonic, 0h));
        CHECK(is_about(suspended.boot, 3h));
    }
    const auto at_last = moved();
    CHECK(is_about(at_last.system, 0h));
    CHECK(is_about(at_last.boot, 0h));
}

TEST_CASE("the boot clock is the kernel's time since boot", "[system]")
{
    clocks machine;
    const auto before = time_since_boot();
    const auto now = boot_clock::now().time_since_epoch();
    CHECK((before <= now && now <= time_since_boot()));
    machine.suspend(5h);
    const auto later = boot_clock::now().time_since_epoch();
    CHECK((now + 5h <= later && later <= time_since_boot() + 5h));
}

TEST_CASE("p09: a step of the system time at any moment changes no validity",
          "[system][pitfall][p09]")
{
    enum moment { before, amid, behind };
    const auto by = GENERATE(+1h, -1h);
    const auto when = GENERATE(before, amid, behind);
    CAPTURE(by.count(), when);
    constexpr auto ttl = 60s;
    constexpr auto longer = 90s;
    clocks machine;
    slow_nodes nodes;
    locks mine(nodes.urls());
    REQUIRE(mine.await_ready(3));
    const auto step_if = [&](moment now) {
        if (when == now) {
            machine.step_system_time(by);
        }
    };
    // The round is under way when this returns, and the validity counts from a moment between the
    // two readings.
    struct span {
        boot_clock::time_point earliest, latest;
    };
    const auto round = [&](std::ptrdiff_t number, const auto& begin) {
        nodes.hold();
        step_if(before);
        span s{boot_clock::now(), {}};
        begin();
        REQUIRE(mine.await([&] { return nodes.were_asked("r", number); }));
        s.latest = boot_clock::now();
        step_if(amid);
        nodes.answer();
        return s;
    };
    const auto check_valid = [](const lock& held, span begun, std::chrono::milliseconds for_) {
        CHECK(held.owns());
        CHECK(held.valid_until() >= begun.earliest + for_ - drift(for_));
        CHECK(held.valid_until() <= begun.latest + for_ - drift(for_));
    };

    pending<taken> acquire;
    const auto begun = round(1, [&] { acquire = mine.begin_acquire("r", {.ttl = ttl}); });
    auto [error, held] = mine.finish(acquire);
    REQUIRE_FALSE(error);
    step_if(behind);
    check_valid(held, begun, ttl);
    // The clients have noticed by now whatever they can notice.
    REQUIRE(mine.await_quiet());
    check_valid(held, begun, ttl);

    pending<error_code> extend;
    const auto again = round(2, [&] { extend = mine.begin_extend(held, longer); });
    CHECK_FALSE(mine.finish(extend));
    step_if(behind);
    check_valid(held, again, longer);
    CHECK(mine.release(std::move(held)).result == release_result::released);
}

TEST_CASE("p09: a step of the system time neither lengthens nor shortens a wait",
          "[system][pitfall][p09]")
{
    const auto by = GENERATE(+1h, -1h);
    constexpr auto wait = 400ms;
    clocks machine;
    slow_nodes nodes([](const arguments& command) {
        return command.front() == "SET" ? wire::null3() : obedient(command);
    });
    locks mine(nodes.urls());
    REQUIRE(mine.await_ready(3));
    const auto began = std::chrono::steady_clock::now();
    const auto waiting = mine.begin_acquire("r", {.ttl = 60s, .timeout = wait});
    REQUIRE(mine.await([&] { return mine.stats().attempts > 0; }));
    machine.step_system_time(by);
    CHECK(mine.finish(waiting).error == errc::timed_out);
    // The client shortens a wait so that an attempt fits after it. In the last millisecond none
    // fits.
    CHECK(std::chrono::steady_clock::now() - began >= wait - 2ms);
}

TEST_CASE("p10: a machine suspended past the validity wakes up without the lock",
          "[system][pitfall][p10]")
{
    clocks machine;
    slow_nodes nodes;
    locks mine(nodes.urls());
    REQUIRE(mine.await_ready(3));
    auto [error, held] = mine.acquire("r", {.ttl = 60s});
    REQUIRE_FALSE(error);
    REQUIRE(mine.await_quiet());
    CHECK(held.owns());
    machine.suspend(61s);
    CHECK_FALSE(held.owns());
    CHECK(held.remaining() == 0ns);
    CHECK(mine.extend(held, 60s) == errc::lost);
    // The client needed no node for the answer.
    CHECK(nodes.were_asked("r", 1));
}

TEST_CASE("p40: clients whose dates differ by an hour exclude each other", "[system][pitfall][p40]")
{
    const auto by = GENERATE(+1h, -1h);
    clocks machine;
    const masters nodes(3);
    locks mine(nodes.urls());
    locks theirs(nodes.urls());
    REQUIRE(mine.await_ready(3));
    lock held = mine.take("r", {.ttl = 60s});
    REQUIRE(mine.await_quiet());
    const auto token = held.fencing_token();
    // Only this client runs here, so the date is its own.
    machine.step_system_time(by);
    REQUIRE(theirs.await_ready(3));
    CHECK(theirs.acquire("r", once()).error == errc::contended);
    CHECK(theirs.adopt("r", std::string(40, '0'), 60s).error == errc::lost);
    const auto found = theirs.inspect("r").found;
    CHECK(found.state == lock_state::held);
    REQUIRE(found.remaining);
    CHECK(*found.remaining <= 60s);
    REQUIRE(theirs.await_quiet());
    machine.step_system_time(-by);
    CHECK(held.owns());
    CHECK_FALSE(mine.extend(held, 60s));
    mine.give_back(std::move(held));
    machine.step_system_time(by);
    const lock later = theirs.take("r", {.ttl = 60s});
    CHECK(later.fencing_token() > token);
}
