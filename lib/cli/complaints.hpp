#pragma once

#include <boost/system/system_error.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
struct ConfigItem;
}  // namespace CLI

namespace redlock::cli {

class config_file;

/// The text with an option of the command in place of each field `config::...`.
[[nodiscard]] std::string with_options(std::string text);

/// Describes faults in the arguments or in the file of options, in the user's terms: with the names
/// of the options and the lines of the file.
class complaints {
public:
    /// All three arguments must outlive this object. `given` contains the arguments and the
    /// environment's options.
    complaints(CLI::App& app, const config_file& file, const std::vector<std::string>& given);

    /// Why the arguments can't be parsed, and where to find help. May change the values of options.
    [[nodiscard]] std::string about(const CLI::ParseError& e) const;
    /// Why a command can't do what the arguments ask for.
    [[nodiscard]] std::string about(const std::invalid_argument& e) const;
    /// Why the library refuses what the arguments ask for, with the library's names replaced by
    /// options.
    [[nodiscard]] std::string about(const boost::system::system_error& e) const;

private:
    [[nodiscard]] std::string command() const;
    [[nodiscard]] bool is_used(const CLI::ConfigItem& item) const;
    [[nodiscard]] bool is_overridden(const CLI::ConfigItem& item) const;
    [[nodiscard]] bool is_refused(const CLI::ConfigItem& item) const;
    [[nodiscard]] std::optional<std::size_t> line_of_refused(const std::string& option) const;
    [[nodiscard]] std::optional<std::size_t> line_of_used(const std::string& option) const;
    [[nodiscard]] std::string file_name() const;
    [[nodiscard]] std::string at(std::size_t line, const std::string& why) const;
    [[nodiscard]] std::string of_used(const std::string& why) const;
    [[nodiscard]] std::string of_file(const std::string& why) const;

    CLI::App& app_;
    const config_file& file_;
    const std::vector<std::string>& given_;
};

}  // namespace redlock::cli
