#pragma once

#include "harness.hpp"
#include "resp/scripts.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::test {

using strings = std::vector<std::string>;

inline const std::string counter = "r:fencing";
inline constexpr acquire_options fenced{.fencing = true};
inline constexpr acquire_options once{.timeout = 0ms, .fencing = true};

inline std::string number(std::int64_t n)
{
    return ":" + std::to_string(n) + "\r\n";
}

/// Some nodes, usually three, whose answers come from the test.
struct counting_world : manual_world {
    using manual_world::manual_world;

    /// Grants the SET and answers the counter after it with `base` + `value`.
    void grant(unsigned node, std::int64_t value)
    {
        answer(node, ok);
        counted(node, value);
    }
    void counted(unsigned node, std::int64_t value) { answer(node, number(base + value)); }
    /// The first two nodes grant with counters that differ. The third one's ttl comes next.
    void grant_apart()
    {
        for (unsigned i = 0; i < 2; ++i) {
            grant(i, i == 0 ? 5 : 9);
            answer(i, ":-2\r\n");
        }
    }
    void stands_at(unsigned node, std::int64_t value) { answer(node, number(-base - value)); }

    void refuse(unsigned node)
    {
        answer(node, nil);
        answer(node, number(base + 77));
    }

    /// The target of the alignment that the node was asked for, relative to `base`.
    [[nodiscard]] std::int64_t raised_to(unsigned node)
    {
        const words& asked = peers[node]->asked.back();
        REQUIRE(asked[0] == "EVALSHA");
        REQUIRE(asked[1] == resp::align_script.sha1);
        return std::stoll(asked[6]) - base;
    }

    /// Answers all commands with a fitting reply.
    void answer_all()
    {
        for (unsigned i = 0; i < peers.size(); ++i) {
            while (!peers[i]->asked.empty()) {
                const std::string& asked = peers[i]->asked.front()[0];
                answer(i, asked == "SET" ? nil : asked == "PING" ? "+PONG\r\n" : no);
            }
        }
    }

    /// The date. Values in the tests are relative to it.
    const std::int64_t base = date_of(now);
};

inline std::uint64_t token_of(const call& c)
{
    REQUIRE(c.held != nullptr);
    return c.held->fencing_token;
}

/// The value of the counter on a model node.
inline std::int64_t counted(bench_world& w, unsigned node)
{
    return std::stoll(w.peers[node]->master.value(w.now, counter));
}

}  // namespace redlock::test
