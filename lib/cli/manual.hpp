#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The manual page, in the language of man(7), of `app`, or of one of its commands.
/// @throws std::invalid_argument when there is no such command.
[[nodiscard]] std::string manual_page(const CLI::App& app, const std::string& command);

/// Those of `app` and of all its commands, in files like `redlock-run.1`.
/// @throws std::runtime_error when one cannot be written.
void write_manual_pages(const CLI::App& app, const std::filesystem::path& folder);

}  // namespace redlock::cli
