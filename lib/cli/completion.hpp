#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace redlock::cli {

/// What makes `shell` ("bash", "zsh" or "fish") complete the words of `app`.
[[nodiscard]] std::string completion(const CLI::App& app, std::string_view shell);

}  // namespace redlock::cli
