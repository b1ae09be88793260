#include "support/locks.hpp"
#include "support/masters.hpp"
#include "support/resp_text.hpp"
#include "support/run.hpp"
#include "support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// They keep what was freed, and take memory of their own for all that was ever touched.
constexpr bool memory_is_ours = false;
#else
constexpr bool memory_is_ours = true;
#endif

/// Of this program, in KiB.
std::size_t resident_memory()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "VmRSS:") {
            std::size_t kib = 0;
            status >> kib;
            return kib;
        }
    }
    throw std::runtime_error("/proc/self/status does not tell VmRSS");
}

std::string repeated(const std::string& text, std::size_t times)
{
    std::string result;
    for (; times > 0; --times) {
        result += text;
    }
    return result;
}

enum class attack { line_without_end, byte_by_byte, pushes, attributes };

asio::awaitable<void> carry_out(scripted_connection& peer, attack how)
{
    // Named outside of co_await, where GCC 12 destroys some temporaries twice.
    constexpr std::size_t many = 1000;
    std::string bytes;
    switch (how) {
        case attack::line_without_end:
            bytes = "+";
            co_await peer.send(bytes);
            bytes = std::string(64 * many, 'x');
            co_await peer.send_for_ever(bytes);
            co_return;
        case attack::byte_by_byte:
            bytes = "+" + std::string(many, 'x');
            co_await peer.send_split(bytes, 1, 50ms);
            co_return;
        case attack::pushes:
            bytes = repeated(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nr\r\n", many);
            co_await peer.send_for_ever(bytes);
            co_return;
        case attack::attributes:
            bytes = repeated("|1\r\n+key-popularity\r\n:1\r\n", many);
            co_await peer.send_for_ever(bytes);
            co_return;
    }
}

/// Greets as any node does; the first SET on a connection is answered with the attack.
std::unique_ptr<scripted_server> hostile_node(attack how)
{
    return std::make_unique<scripted_server>(
        [how](scripted_connection& peer) -> asio::awaitable<void> {
            for (;;) {
                const auto command = co_await peer.read_command();
                if (command.front() == "SET") {
                    co_await carry_out(peer, how);
                    co_return;
                }
                std::string answer = obedient(command);
                co_await peer.send(std::move(answer));
            }
        });
}

}  // namespace

TEST_CASE("a node that never ends its answer costs its own vote and little memory",
          "[integration][hostile]")
{
    const auto how = GENERATE(attack::line_without_end, attack::byte_by_byte, attack::pushes,
                              attack::attributes);
    CAPTURE(static_cast<int>(how));
    const auto hostile = hostile_node(how);
    masters nodes(2);
    auto urls = nodes.urls();
    urls.push_back(hostile->url());
    locks mine(brisk(urls));
    REQUIRE(mine.await_ready(3));
    const auto before = resident_memory();
    auto most = before;
    // Its connection is given up, made anew, attacked again and given up again.
    std::size_t cycles = 0;
    REQUIRE(mine.await([&] {
        lock held = mine.take("r", {.ttl = 60s});
        CHECK(held.granted_by() == 2);
        mine.give_back(std::move(held));
        ++cycles;
        most = std::max(most, resident_memory());
        return mine.stats().disconnects >= 2;
    }));
    CHECK(cycles >= 2);
    if (memory_is_ours) {
        constexpr std::size_t mib = 1024;
        CHECK(most < before + 64 * mib);
    }
    CHECK(hostile->commands("SET").size() >= 2);
    CHECK(hostile->failures().empty());
    CHECK(mine.stats().unavailable + mine.stats().timed_out == 0);
}
