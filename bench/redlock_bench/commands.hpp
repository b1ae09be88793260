#pragma once

#include <CLI/App.hpp>

#include <functional>

namespace redlock::bench {

/// What a subcommand does once the arguments are read; gives the exit status.
using action = std::function<int()>;

// Each adds its subcommand, whose options the action holds.

/// Measures the library.
[[nodiscard]] action add_run(CLI::App& app);
/// Measures the library beside the reference programs.
[[nodiscard]] action add_compare(CLI::App& app);
/// Shows locks going on while masters die and come back.
[[nodiscard]] action add_show(CLI::App& app);

}  // namespace redlock::bench
