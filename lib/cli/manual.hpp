#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The manual page of `app` or of one of its commands, in the language of man(7).
/// @throws std::invalid_argument if there is no such command.
[[nodiscard]] std::string manual_page(const CLI::App& app, const std::string& command);

/// Writes the manual pages of `app` and of all its commands, to files like `redlock-run.1`.
/// @throws std::runtime_error if a file can't be written.
void write_manual_pages(const CLI::App& app, const std::filesystem::path& folder);

}  // namespace redlock::cli
