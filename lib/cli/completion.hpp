#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The shells that have a completion.
[[nodiscard]] const std::vector<std::string>& shells();

/// The script that lets `shell` complete the words of `app`.
[[nodiscard]] std::string completion(const CLI::App& app, std::string_view shell);

}  // namespace redlock::cli
