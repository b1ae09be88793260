#include "client_sim/play.hpp"

#include <catch2/catch_session.hpp>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

// Runs the tests, or with --seed one play for inspection.

namespace {

int replay(std::uint64_t seed, bool trace)
{
    using redlock::test::play;
    const auto first = play(seed, trace ? &std::cout : nullptr).run();
    const auto again = play(seed).run();
    std::cout << "seed " << seed << ", hash " << std::hex << first.hash << std::dec << ", "
              << first.steps << " steps: "
              << (first.failure.empty() ? std::string("nothing wrong") : first.failure) << '\n';
    if (again.hash != first.hash) {
        std::cout << "the second time the hash is " << std::hex << again.hash << '\n';
    }
    return first.failure.empty() && again.hash == first.hash ? 0 : 1;
}

int play_many(std::uint64_t first, unsigned count)
{
    const auto sum = redlock::test::play_all(first, count);
    std::cout << sum << '\n';
    if (!sum.failure.empty()) {
        std::cout << "seed " << sum.seed << ": " << sum.failure << '\n';
    }
    return sum.failure.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv)
{
    std::optional<std::uint64_t> seed;
    bool trace = false;
    unsigned plays = 0;
    Catch::Session session;
    using Catch::Clara::Opt;
    session.cli(session.cli() | Opt(seed, "number")["--seed"]("plays this seed, and no test") |
                Opt(trace)["--trace"]("with --seed: prints every step") |
                Opt(plays, "number")["--plays"]("with --seed: so many from this one on"));
    if (const int wrong = session.applyCommandLine(argc, argv); wrong != 0) {
        return wrong;
    }
    if (seed && plays != 0) {
        return play_many(*seed, plays);
    }
    return seed ? replay(*seed, trace) : session.run();
}
