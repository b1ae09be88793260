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
 * A file of options, as CLI11 reads it, with the lines that they stand in, so that what is wrong
 * can be found. Options of all commands stand in front of any section or below `[default]`, those
 * of a command below its name. What CLI11 would take for something else, or read over, is refused.
 */
class config_file : public CLI::ConfigBase {
public:
    /// @throws CLI::ConfigError that begins with the line.
    [[nodiscard]] std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

    /// What was read last, in the order of the file.
    [[nodiscard]] const std::vector<CLI::ConfigItem>& items() const noexcept { return items_; }
    /// The line of an option, or a section, as `drift`, `run.ttl` and `run`; the first of several.
    [[nodiscard]] std::optional<std::size_t> line_of(std::string_view name) const;

private:
    class scan;
    struct entry {
        std::string name;
        std::size_t line = 0;
    };
    // CLI11 reads by a constant object.
    mutable std::vector<CLI::ConfigItem> items_;
    mutable std::vector<entry> entries_;
};

}  // namespace redlock::cli
