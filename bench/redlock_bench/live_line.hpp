#pragma once

#include "redlock_bench/figures.hpp"

#include <cstddef>
#include <iosfwd>
#include <string_view>

namespace redlock::bench {

/// How things stand, printed over and over: on a terminal in one line that is written anew every
/// 200 ms, and cut to its width, else a line each second.
class live_line {
public:
    /// On `out`, which writes to `descriptor`.
    live_line(std::size_t nodes, std::ostream& out, int descriptor);

    /// Time starts to run.
    void start();

    /// The figures since the last call, and how many nodes can be asked now.
    void show(const figures& latest, std::size_t ready);

    /// A line of its own.
    void say(std::string_view text);

    /// Takes the line away, from a terminal.
    void clear();

private:
    void print();
    [[nodiscard]] std::size_t width() const;

    std::size_t nodes_;
    std::ostream& out_;
    int descriptor_;
    bool terminal_;
    bool unfinished_ = false;  ///< the cursor stands behind a line without end
    bench_clock::time_point began_;
    bench_clock::time_point printed_;
    figures since_printed_;
    std::size_t ready_ = 0;
};

}  // namespace redlock::bench
