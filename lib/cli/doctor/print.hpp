#pragma once

#include "cli/doctor/clocks.hpp"
#include "cli/doctor/facts.hpp"
#include "cli/doctor/findings.hpp"

#include <iosfwd>
#include <vector>

namespace redlock::cli {

/// Prints one line for each node, then the findings and the verdict. Equal findings of several
/// nodes are printed together.
void print_text(std::ostream& out, const std::vector<node_facts>& nodes,
                const clock_comparison& clocks, const std::vector<finding>& findings,
                const verdict& v);

/// Prints the same as one JSON object: `nodes`, `clocks`, `findings`, `verdict`.
void print_json(std::ostream& out, const std::vector<node_facts>& nodes,
                const clock_comparison& clocks, const std::vector<finding>& findings,
                const verdict& v);

}  // namespace redlock::cli
