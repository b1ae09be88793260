#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/**
 * A file of options for CLI11. It remembers the line of each option, so that messages can name it.
 * Options of all commands come before any section or in `[default]`; options of one command come in
 * a section with its name. Lines that CLI11 would misread or ignore are refused.
 */
class config_file : public CLI::ConfigBase {
public:
    /// Reads the file.
    /// @throws CLI::ConfigError with a text that begins with the line.
    [[nodiscard]] std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

    /// The items that were read last, in the order of the file.
    [[nodiscard]] const std::vector<CLI::ConfigItem>& items() const noexcept { return items_; }
    /// The line of an option or a section, for example `drift`, `run.ttl` or `run`. The first line
    /// if there are several.
    [[nodiscard]] std::optional<std::size_t> line_of(std::string_view name) const;

private:
    class scan;
    struct entry {
        std::string name;
        std::size_t line = 0;
    };
    // Mutable, because CLI11 reads through a constant object.
    mutable std::vector<CLI::ConfigItem> items_;
    mutable std::vector<entry> entries_;
};

}  // namespace redlock::cli
