#pragma once

#include <string>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The manual page, in the language of man(7), of `app`, or of one of its commands.
/// @throws std::invalid_argument when there is no such command.
[[nodiscard]] std::string manual_page(const CLI::App& app, const std::string& command);

}  // namespace redlock::cli
