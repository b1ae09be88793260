#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The commands that a user sees.
[[nodiscard]] std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// The manual pages of `app` and of all its commands by their names, such as `redlock-run`, in the
/// language of man(7).
[[nodiscard]] std::map<std::string, std::string> manual_pages(const CLI::App& app);

}  // namespace redlock::cli
