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

/// What is wrong with arguments, or with what a file of options says, in the words of who gave
/// them: by the names of the options, and with the line of the file.
class complaints {
public:
    /// All three have to live as long. `given`: the arguments, those of the environment among them.
    complaints(CLI::App& app, const config_file& file, const std::vector<std::string>& given);

    /// Why they could not be understood, and who says more. It may leave options with other values
    /// than they were given.
    [[nodiscard]] std::string about(const CLI::ParseError& e) const;
    /// Why a command cannot do what they say.
    [[nodiscard]] std::string about(const std::invalid_argument& e) const;
    /// The same of what the library refuses, which has names of its own for some of it.
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
