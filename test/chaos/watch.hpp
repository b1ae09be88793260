#pragma once

#include "chaos/history.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace redlock::chaos {

/**
 * Whether everybody gets on who could. A client has to take the lock that nobody else wants once in
 * every `patience`, counted only while a majority of the masters answers the probe without a gap,
 * while the client goes, and while the watch itself is on time: so a machine that has no time for
 * the test excuses everybody.
 */
class progress_watch {
public:
    explicit progress_watch(std::chrono::nanoseconds patience) : patience_(patience.count()) {}

    /// What is known of one client.
    struct sight {
        bool goes = false;
        nanos going_since = 0;
        nanos last_acquired = 0;
    };

    /// To be called every few milliseconds. A complaint, or nothing.
    std::optional<std::string> look(nanos at, bool majority_answers,
                                    const std::vector<sight>& clients);

    /// The longest that a client was without, of the time that counts.
    [[nodiscard]] nanos longest() const noexcept { return longest_; }

    /// How much of the time counted.
    [[nodiscard]] nanos counted() const noexcept { return counted_; }

private:
    nanos patience_;
    nanos last_look_ = 0;
    nanos possible_since_ = 0;
    nanos longest_ = 0;
    nanos counted_ = 0;
};

}  // namespace redlock::chaos
