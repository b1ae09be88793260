#pragma once

#include "redlock_bench/figures.hpp"

#include <cstddef>
#include <string_view>

namespace redlock::bench {

/// How things stand, printed over and over: on a terminal in one line that is written anew every
/// 200 ms, else a line each second.
class live_line {
public:
    explicit live_line(std::size_t nodes);

    /// Time starts to run.
    void start();

    /// The figures since the last call, and how many nodes can be asked now.
    void show(const figures& latest, std::size_t ready);

    /// A line of its own.
    void say(std::string_view text);

private:
    void print();

    std::size_t nodes_;
    bool terminal_;
    bool unfinished_ = false;  ///< the cursor stands behind a line without end
    bench_clock::time_point began_;
    bench_clock::time_point printed_;
    figures since_printed_;
    std::size_t ready_ = 0;
};

}  // namespace redlock::bench
