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

/// The data under a lock: a set that knows nothing of locks. A writer reads the size, and later
/// writes its element there and then the larger size. If two do so at the same time, one element is
/// lost.
struct shared_set {
    static constexpr std::size_t capacity = std::size_t{4} << 20;

    std::atomic<std::uint64_t> size;
    std::array<std::atomic<std::uint64_t>, capacity> elements;
};

/// The state that a client process shows to the director.
struct board {
    /// Connected nodes whose votes count.
    std::atomic<std::uint32_t> nodes_voting;
    /// By worker: it has checked that it owns the lock and has not finished the step that needs it.
    /// No lock of a client helps against a pause there.
    std::array<std::atomic<std::uint32_t>, max_workers> in_step;
    /// By worker: it has a shared lock.
    std::array<std::atomic<std::uint32_t>, max_workers> holds_shared;
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
