#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/process.hpp"
#include "support/run.hpp"
#include "support/scripted_server.hpp"
#include "support/temp_dir.hpp"

#include <redlock/clock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

/// A node that grants everything.
scripted_server willing_node()
{
    return scripted_server(
        [](scripted_connection& peer) -> asio::awaitable<void> { co_await peer.serve(); });
}

/// For locks with `ending_ttl`.
config hasty(std::vector<std::string> nodes,
             std::chrono::milliseconds node_timeout = ending_ttl / 4)
{
    auto c = patient(std::move(nodes));
    c.node_timeout = node_timeout;
    return c;
}

acquire_options for_moments(std::chrono::milliseconds ttl)
{
    return {.ttl = ttl, .timeout = never, .min_validity = ttl / 2};
}

bool has_passed(boot_clock::time_point t)
{
    return boot_clock::now() >= t;
}

// Parent and child exchange their data in files that appear complete.

void tell(const fs::path& file, const std::string& text)
{
    const auto unfinished = fs::path(file).concat(".part");
    std::ofstream(unfinished) << text;
    fs::rename(unfinished, file);
}

std::string hear(const fs::path& file)
{
    REQUIRE(wait_for([&] { return fs::exists(file); }));
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string variable(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

constexpr const char* child = "the child that holds a lock";
constexpr const char* keeping_child = "the child that keeps a lock alive";
constexpr const char* doomed_child = "the child that is killed while it holds a lock";

std::string words_of(const std::vector<std::string>& all)
{
    std::string text;
    for (const auto& each : all) {
        text += each + " ";
    }
    return text;
}

std::vector<std::string> words_in(const std::string& text)
{
    std::istringstream all(text);
    return {std::istream_iterator<std::string>(all), {}};
}

}  // namespace

TEST_CASE("p10: a lock expires even if its context does not run", "[system][pitfall][p10]")
{
    const auto node = willing_node();
    locks mine(hasty({node.url()}));
    REQUIRE(mine.await_ready(1));
    auto [error, held] = mine.acquire("r", for_moments(ending_ttl));
    REQUIRE_FALSE(error);
    const auto until = held.valid_until();
    REQUIRE(wait_for([&] { return has_passed(until); }));
    // No handler has run since.
    CHECK_FALSE(held.owns());
    CHECK(held.remaining() == 0ns);
    CHECK(held);
    const auto sent = mine.stats().commands;
    CHECK(mine.extend(held, ending_ttl) == errc::lost);
    CHECK(mine.stats().commands == sent);
}

TEST_CASE("p10: a process stopped past the validity denies the lock in its first answer",
          "[system][pitfall][p10]")
{
    const auto* context = GENERATE("run", "not run");
    const auto node = willing_node();
    const temp_dir folder;
    process holder(fs::read_symlink("/proc/self/exe"), {child},
                   {.output = folder / "output",
                    .environment = {"REDLOCK_TEST_FOLDER=" + folder.path().string(),
                                    "REDLOCK_TEST_NODE=" + node.url(),
                                    std::string("REDLOCK_TEST_CONTEXT=") + context}});
    const boot_clock::time_point until{std::chrono::nanoseconds(std::stoll(hear(folder / "held")))};
    holder.stop();
    REQUIRE(wait_for([&] { return has_passed(until); }));
    tell(folder / "question", "do you own it?");
    holder.cont();
    CHECK(hear(folder / "answer") == "no");
    const auto code = holder.wait();
    CAPTURE(hear(folder / "output"));
    CHECK(code == 0);
}

TEST_CASE("p32: a process stopped past the validity of a kept lock reports the loss first",
          "[system][pitfall][p32]")
{
    masters nodes(3);
    const temp_dir folder;
    process holder(fs::read_symlink("/proc/self/exe"), {keeping_child},
                   {.output = folder / "output",
                    .environment = {"REDLOCK_TEST_FOLDER=" + folder.path().string(),
                                    "REDLOCK_TEST_NODES=" + words_of(nodes.urls())}});
    (void)hear(folder / "renewed");
    // After the process has stopped.
    REQUIRE(wait_for([&] { return nodes.count("r") == 0; }));
    // Another client has the lock, and the client that wakes up doesn't disturb it.
    ready_locks mine(patient(nodes.urls()));
    lock held = mine.take("r", {.ttl = 120s});
    REQUIRE(wait_for([&] { return nodes.count("r") == 3; }));
    holder.cont();
    CHECK(hear(folder / "first") == "lost");
    CHECK(holder.wait() == 0);
    CHECK(held.owns());
    CHECK(nodes.count("r") == 3);
    mine.give_back(std::move(held));
    CAPTURE(hear(folder / "output"));
}

TEST_CASE("a process killed while it holds a lock keeps others out until its keys expire",
          "[system]")
{
    masters nodes(3);
    auto by_the_key = hasty(nodes.urls());
    by_the_key.max_poll_interval = never;  // so that the client learns of the end by the keys alone
    locks mine(std::move(by_the_key));
    REQUIRE(mine.await_ready(3));
    const temp_dir folder;
    process holder(fs::read_symlink("/proc/self/exe"), {doomed_child},
                   {.output = folder / "output",
                    .environment = {"REDLOCK_TEST_FOLDER=" + folder.path().string(),
                                    "REDLOCK_TEST_NODES=" + words_of(nodes.urls())}});
    const auto token = std::stoull(hear(folder / "held"));
    const auto asked = boot_clock::now();
    std::vector<std::chrono::milliseconds> left;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        left.push_back(nodes[i].pttl("r"));
    }
    std::sort(left.begin(), left.end());
    // `later` ends about six seconds after the holder's lock: earlier than a waiter that waits for
    // that lock's ttl twice.
    const lock later = mine.take("other", for_moments(brief_ttl * 7 / 4));
    const auto before = mine.stats().attempts;
    const auto waiting = mine.begin_acquire("r", {.ttl = 60s, .timeout = never});
    REQUIRE(mine.await([&] { return mine.stats().attempts > before; }));
    holder.kill();
    const auto [error, held] = mine.finish(waiting);
    const auto had = boot_clock::now();
    REQUIRE_FALSE(error);
    // The second key to end makes a majority of free nodes. PTTL is rounded.
    REQUIRE(left[1] > 0ms);
    CHECK(had >= asked + left[1] - 2ms);
    CHECK(had < later.valid_until());
    CHECK(held.fencing_token() > token);
}

TEST_CASE(doomed_child, "[.child]")
{
    const fs::path folder = variable("REDLOCK_TEST_FOLDER");
    locks mine(hasty(words_in(variable("REDLOCK_TEST_NODES"))));
    const lock held = mine.take("r", for_moments(brief_ttl));
    REQUIRE(mine.await_quiet());
    tell(folder / "held", std::to_string(held.fencing_token()));
    (void)mine.await([] { return false; });
}

TEST_CASE(keeping_child, "[.child]")
{
    const fs::path folder = variable("REDLOCK_TEST_FOLDER");
    auto c = hasty(words_in(variable("REDLOCK_TEST_NODES")), brief_timeout);
    bool was_stopped = false;
    std::string first;
    const auto happens = [&](const char* what) {
        if (was_stopped && first.empty()) {
            first = what;
        }
    };
    bool was_renewed = false;
    c.on_renewal = [&](const renewal& r) {
        happens(to_string(r.outcome));
        was_renewed = was_renewed || r.outcome == renewal_outcome::renewed;
    };
    locks mine(std::move(c));
    acquire_options o = for_moments(brief_ttl);
    o.keep_alive.emplace();
    lock held = mine.take("r", o);
    const auto lost = mine.begin_wait_lost(held);
    REQUIRE(mine.await([&] { return was_renewed; }));
    // The replies to these questions arrive while the process is stopped. If the process stopped
    // between a reply and its use, the library could not help it.
    pending<inspected> asked;
    do {
        const auto sent = mine.stats().commands;
        asked = mine.begin_inspect("other");
        REQUIRE(mine.await([&] { return mine.stats().commands > sent; }));
    } while (asked->has_value());
    was_stopped = true;
    tell(folder / "renewed", "yes");
    REQUIRE(std::raise(SIGSTOP) == 0);
    REQUIRE(mine.await([&] {
        if (asked->has_value()) {
            happens("inspected");
        }
        return lost->has_value() && !first.empty();
    }));
    CHECK(**lost == errc::lost);
    CHECK_FALSE(held.owns());
    tell(folder / "first", first);
    (void)mine.finish(asked);
}

TEST_CASE(child, "[.child]")
{
    const fs::path folder = variable("REDLOCK_TEST_FOLDER");
    locks mine(hasty({variable("REDLOCK_TEST_NODE")}));
    auto [error, held] = mine.acquire("r", for_moments(ending_ttl));
    REQUIRE_FALSE(error);
    tell(folder / "held", std::to_string(held.valid_until().time_since_epoch().count()));
    const auto is_asked = [&] { return fs::exists(folder / "question"); };
    if (variable("REDLOCK_TEST_CONTEXT") == "run") {
        REQUIRE(mine.await(is_asked));
    } else {
        REQUIRE(wait_for(is_asked));
    }
    tell(folder / "answer", held.owns() ? "yes" : "no");
    CHECK(mine.extend(held, ending_ttl) == errc::lost);
}
