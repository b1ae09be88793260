#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::cli {

/// For which there is a completion.
[[nodiscard]] const std::vector<std::string>& shells();

/// What makes `shell` complete the words of `app`.
[[nodiscard]] std::string completion(const CLI::App& app, std::string_view shell);

}  // namespace redlock::cli
