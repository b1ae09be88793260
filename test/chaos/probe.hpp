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
 * Writes to each node through the same networks as the clients, one write after the other, without
 * the library. If a majority answers in time, a client has no excuse.
 */
class probe {
public:
    probe(const std::vector<std::uint16_t>& ports, std::chrono::milliseconds patience);

    /// Whether a node recently answered the last write in time.
    [[nodiscard]] bool answers(std::size_t master) const;

    /// The same, with an answer to a question that was sent after `since`.
    [[nodiscard]] bool answers(std::size_t master, nanos since) const;

    /// The number of such nodes.
    [[nodiscard]] std::size_t answering() const;

private:
    /// The last write that was answered in time. 0 if the last one was not.
    struct answer {
        std::atomic<nanos> asked{0};
        std::atomic<nanos> came{0};
    };

    std::chrono::milliseconds patience_;
    std::vector<std::unique_ptr<answer>> answers_;
    test::background own_;
};

}  // namespace redlock::chaos
