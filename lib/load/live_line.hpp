#pragma once

#include "load/figures.hpp"

#include <cstddef>
#include <iosfwd>
#include <string_view>

namespace redlock::bench {

/// Prints the progress over and over. On a terminal it is one line that is overwritten every 200 ms
/// and cut to the width, else a line each second.
class live_line {
public:
    /// Prints on `out`, which writes to `descriptor`.
    live_line(std::size_t nodes, std::ostream& out, int descriptor);

    /// Starts the time.
    void start();

    /// Prints the figures since the last call, and the number of nodes that can be asked now.
    void show(const figures& latest, std::size_t ready);

    /// Prints a separate line.
    void say(std::string_view text);

    /// Removes the line from a terminal.
    void clear();

private:
    void print();
    [[nodiscard]] std::size_t width() const;

    std::size_t nodes_;
    std::ostream& out_;
    int descriptor_;
    bool terminal_;
    bool unfinished_ = false;  ///< the cursor is after a line without end
    bench_clock::time_point began_;
    bench_clock::time_point printed_;
    figures since_printed_;
    std::size_t ready_ = 0;
};

}  // namespace redlock::bench
