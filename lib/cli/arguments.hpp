#pragma once

#include <string>
#include <vector>

namespace redlock::cli {

/// Whether the arguments contain an option, as `--ttl 1s` or `--ttl=1s`.
[[nodiscard]] bool is_given(const std::vector<std::string>& arguments, const std::string& option);

/// Whether the arguments contain the option with an empty value, as `--config ''` or `--config=`.
[[nodiscard]] bool is_given_empty(const std::vector<std::string>& arguments,
                                  const std::string& option);

/// Puts the environment's options in front of the arguments. The arguments take precedence over the
/// environment, and the environment takes precedence over a file.
[[nodiscard]] std::vector<std::string> with_environment(const std::vector<std::string>& arguments);

/// The default file of options, if it exists: the user's, or else the machine's. Otherwise empty.
[[nodiscard]] std::string usual_file();

}  // namespace redlock::cli
