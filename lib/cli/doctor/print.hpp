#pragma once

#include "cli/doctor/clocks.hpp"
#include "cli/doctor/facts.hpp"
#include "cli/doctor/findings.hpp"

#include <iosfwd>
#include <vector>

namespace redlock::cli {

/// A line a node, the findings, of several nodes together where they are the same, and the verdict.
void print_text(std::ostream& out, const std::vector<node_facts>& nodes,
                const clock_comparison& clocks, const std::vector<finding>& findings,
                const verdict& v);

/// The same as one JSON object: `nodes`, `findings`, `verdict`.
void print_json(std::ostream& out, const std::vector<node_facts>& nodes,
                const clock_comparison& clocks, const std::vector<finding>& findings,
                const verdict& v);

}  // namespace redlock::cli
