#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <istream>
#include <optional>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// An option or a section of a file, and its line.
struct config_entry {
    CLI::ConfigItem item;
    std::size_t line = 0;
};

/**
 * A TOML file of options for CLI11. It remembers the line of each option, so that messages can name
 * it. Options of all commands come before any section or in `[default]`; options of one command
 * come in a section with its name.
 */
class config_file : public CLI::ConfigBase {
public:
    /// Reads the file.
    /// @throws CLI::ConfigError with a text that begins with the line and contains no value.
    [[nodiscard]] std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

    /// The entries that were read last, in the order of the file.
    [[nodiscard]] const std::vector<config_entry>& entries() const noexcept { return entries_; }
    /// The line of an option or a section, for example `drift`, `run.ttl` or `run`.
    [[nodiscard]] std::optional<std::size_t> line_of(std::string_view name) const;

private:
    // Mutable, because CLI11 reads through a constant object.
    mutable std::vector<config_entry> entries_;
};

}  // namespace redlock::cli
