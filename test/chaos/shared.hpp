#pragma once

#include "chaos/history.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace redlock::chaos {

inline constexpr std::size_t max_workers = 64;

/// What is updated under a lock: a set that knows nothing of locks. Who adds an element reads the
/// size, and later writes the element behind and the size one larger; two who do that at the same
/// time lose one of their elements.
struct shared_set {
    static constexpr std::size_t capacity = std::size_t{4} << 20;

    std::atomic<std::uint64_t> size;
    std::array<std::atomic<std::uint64_t>, capacity> elements;
};

/// What a client process shows the director while it runs.
struct board {
    /// Nodes that its client could ask now, and whose votes count.
    std::atomic<std::uint32_t> nodes_voting;
    /// By worker: it has asked whether it owns the lock, and has not finished the step that needs
    /// it. A pause there is what no lock of a client can help against.
    std::array<std::atomic<std::uint32_t>, max_workers> in_step;
};

/// Where the processes of one run find each other's files.
struct workplace {
    std::filesystem::path folder;

    [[nodiscard]] std::filesystem::path history(unsigned process) const
    {
        return folder / ("history-" + std::to_string(process));
    }
    [[nodiscard]] std::filesystem::path board(unsigned process) const
    {
        return folder / ("board-" + std::to_string(process));
    }
    [[nodiscard]] std::filesystem::path output(unsigned process) const
    {
        return folder / ("output-" + std::to_string(process));
    }
    [[nodiscard]] std::filesystem::path set(unsigned resource) const
    {
        return folder / ("set-" + std::to_string(resource));
    }
};

}  // namespace redlock::chaos
