#pragma once

#include "chaos/scenario.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace redlock::chaos {

struct run_options {
    const scenario* play = nullptr;
    /// How long faults go on; where a disease is to be seen, how long to look for it.
    std::chrono::milliseconds time{60'000};
    std::uint64_t seed = 0;
    unsigned clients = 4;
    unsigned workers = 8;
    unsigned resources = 3;
    std::filesystem::path program;  ///< this one, which is its clients too
    std::filesystem::path shim;
};

/// Plays a scenario and tells of it on standard output. Whether all that was demanded was seen.
[[nodiscard]] bool run(const run_options& options);

}  // namespace redlock::chaos
