#pragma once

#include "chaos/scenario.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace redlock::chaos {

struct run_options {
    const scenario* play = nullptr;
    /// How long faults go on. For a disease: how long the run looks for it.
    std::chrono::milliseconds time{60'000};
    std::uint64_t seed = 0;
    // Zero: the scenario's own number.
    unsigned clients = 0;
    unsigned workers = 0;
    unsigned resources = 0;
    std::filesystem::path program;  ///< this program, which also runs its clients
    std::filesystem::path shim;
};

enum class outcome {
    as_demanded,
    in_part,  ///< as demanded, but some faults cannot be injected on this machine
    failed,
};

/// Plays a scenario and prints its report on standard output.
[[nodiscard]] outcome run(run_options options);

}  // namespace redlock::chaos
