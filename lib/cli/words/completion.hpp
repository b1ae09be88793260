#pragma once

#include <string>

namespace CLI {
class App;
}

namespace redlock::cli {

// The scripts that let a shell complete the words of `app`.

[[nodiscard]] std::string bash_completion(const CLI::App& app);
[[nodiscard]] std::string zsh_completion(const CLI::App& app);
[[nodiscard]] std::string fish_completion(const CLI::App& app);

}  // namespace redlock::cli
