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
 * can be found. What CLI11 would take for something else, or read over, is refused.
 */
class config_file : public CLI::ConfigBase {
public:
    /// @throws CLI::ConfigError that begins with the line.
    [[nodiscard]] std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

    /// The line of an option, or a section, as `ttl`, `run.ttl` and `run`.
    [[nodiscard]] std::optional<std::size_t> line_of(std::string_view name) const;
    /// Of an option that is wrong, in whichever section: where its value stands in `why`, if it is
    /// there more than once.
    [[nodiscard]] std::optional<std::size_t> line_of_option(std::string_view option,
                                                            std::string_view why) const;

private:
    class scan;
    struct entry {
        std::string section;
        std::string name;
        std::string value;
        std::size_t line = 0;
    };
    /// What was read last. CLI11 reads by a constant object.
    mutable std::vector<entry> entries_;
};

}  // namespace redlock::cli
