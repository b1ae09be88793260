#pragma once

#include "chaos/history.hpp"

#include "support/background.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace redlock::chaos {

/**
 * What is possible at all: writes to each master, through the same networks as the clients, one
 * after the other, without the library. Where these are answered in time by a majority, a client
 * has no excuse.
 */
class probe {
public:
    probe(const std::vector<std::uint16_t>& ports, std::chrono::milliseconds patience);

    /// Whether a master answered the last write in time, and that not long ago.
    [[nodiscard]] bool answers(std::size_t master) const;

    /// Whether it does, and was asked since then: not by what went before.
    [[nodiscard]] bool answers(std::size_t master, nanos since) const;

    /// How many do.
    [[nodiscard]] std::size_t answering() const;

private:
    /// Of the last write that was answered in time; 0 when the last was not.
    struct answer {
        std::atomic<nanos> asked{0};
        std::atomic<nanos> came{0};
    };

    std::chrono::milliseconds patience_;
    std::vector<std::unique_ptr<answer>> answers_;
    test::background own_;
};

}  // namespace redlock::chaos
