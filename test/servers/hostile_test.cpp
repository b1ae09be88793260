#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/resp_text.hpp"
#include "support/run.hpp"
#include "support/sanitizers.hpp"
#include "support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

#if REDLOCK_TEST_SANITIZED
/// Sanitizers keep freed memory, and take memory of their own for all that the program ever
/// touched.
constexpr bool memory_is_ours = false;
#else
constexpr bool memory_is_ours = true;
#endif

/// A value of this program in /proc/self/status.
std::size_t memory_in_kib(const std::string& name)
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == name + ":") {
            std::size_t kib = 0;
            status >> kib;
            return kib;
        }
    }
    throw std::runtime_error("/proc/self/status does not tell " + name);
}

std::string repeated(const std::string& text, std::size_t times)
{
    std::string result;
    for (; times > 0; --times) {
        result += text;
    }
    return result;
}

struct attack {
    const char* name;
    /// `first` comes once, and `rest` over and over.
    std::string begin;
    std::string rest;
    enum class ending { none, slow, fin } end = ending::none;
    /// The client must see that this is no reply, or none that it accepts.
    bool is_no_reply = false;
    /// The attack comes at the start of each connection, not as the answer to a SET.
    bool is_greeting = false;
};

const std::vector<attack>& attacks()
{
    using enum attack::ending;
    constexpr std::size_t many = 1000;
    static const std::string filler(64 * many, 'x');
    static const std::vector<attack> all{
        {"a line without end", "+", filler, none, true},
        {"byte by byte", "+" + std::string(many, 'x'), "", slow},
        {"pushes", "", repeated(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nr\r\n", many)},
        {"attributes", "", repeated("|1\r\n+key-popularity\r\n:1\r\n", many), none, true},
        {"an array of two thousand millions", "*2147483647\r\n", repeated("_\r\n", many), none,
         true},
        {"a map of more than there can be", "%9223372036854775808\r\n", "", none, true},
        {"a string of a gibibyte", "$1073741824\r\n", filler, none, true},
        {"a string of more than there can be", "$18446744073709551615\r\n", filler, none, true},
        {"arrays within arrays", "", repeated("*1\r\n", many), none, true},
        {"a reply cut short", "$40\r\nabc", "", fin},
        {"denied", "-DENIED go away\r\n", "", fin},
        {"denied from the start", "-DENIED Redis is running in protected mode\r\n", "", fin, false,
         true},
    };
    return all;
}

asio::awaitable<void> carry_out(scripted_connection& peer, const attack& how)
{
    // Named outside of co_await, where GCC 12 destroys some temporaries twice.
    std::string bytes = how.begin;
    if (how.end == attack::ending::slow) {
        co_await peer.send_split(bytes, 1, 50ms);
        co_return;
    }
    co_await peer.send(bytes);
    if (how.end == attack::ending::fin) {
        peer.half_close();
    } else if (!how.rest.empty()) {
        bytes = how.rest;
        co_await peer.send_for_ever(bytes);
    }
    co_await peer.ignore();
}

/// Greets as any node does, unless the attack comes at once. Answers the first SET on each
/// connection with the attack.
std::unique_ptr<scripted_server> hostile_node(const attack& how)
{
    return std::make_unique<scripted_server>(
        [&how](scripted_connection& peer) -> asio::awaitable<void> {
            while (!how.is_greeting) {
                const auto command = co_await peer.read_command();
                if (command.front() == "SET") {
                    break;
                }
                std::string answer = obedient(command);
                co_await peer.send(std::move(answer));
            }
            co_await carry_out(peer, how);
        });
}

}  // namespace

TEST_CASE("a hostile node costs its own vote and little memory and no time", "[servers][hostile]")
{
    const attack& how = attacks().at(GENERATE(range(std::size_t{0}, attacks().size())));
    CAPTURE(how.name);
    const auto hostile = hostile_node(how);
    masters nodes(2);
    auto urls = nodes.urls();
    urls.push_back(hostile->url());
    auto c = brisk(urls, 5s);
    // The two other nodes must answer within this time. The client waits as long for a hostile node
    // that doesn't answer.
    c.node_timeout = 4s;
    locks mine(c);
    REQUIRE(mine.await_ready(how.is_greeting ? 2 : 3));
    const auto resident = memory_in_kib("VmRSS");
    const auto reserved = memory_in_kib("VmPeak");
    auto most = resident;
    slow_steps steps(c.node_timeout);
    // In each attack the client waits for the hostile node once, for the node timeout. Then it ends
    // the connection and makes another one.
    constexpr int rounds = slow_steps::by_the_machine + 1;
    REQUIRE(mine.await([&] {
        steps.time([&] {
            lock held = mine.take("r", {.ttl = 60s});
            CHECK(held.granted_by() == 2);
            mine.give_back(std::move(held));
        });
        most = std::max(most, memory_in_kib("VmRSS"));
        return how.is_greeting ? hostile->connections() >= rounds
                               : mine.stats().disconnects >= rounds;
    }));
    CHECK(steps.count() < rounds);
    if (memory_is_ours) {
        constexpr std::size_t mib = 1024;
        CHECK(most < resident + 64 * mib);
        // This also shows memory that the client allocated and never touched.
        CHECK(memory_in_kib("VmPeak") < reserved + 256 * mib);
    }
    CHECK(hostile->commands("SET").size() >= (how.is_greeting ? 0 : rounds));
    CHECK((mine.stats().protocol_errors >= rounds) == how.is_no_reply);
    CHECK(hostile->failures().empty());
    CHECK(mine.stats().unavailable + mine.stats().timed_out == 0);
}
