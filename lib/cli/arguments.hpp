#pragma once

#include <string>
#include <vector>

namespace redlock::cli {

/// Whether an option is among the arguments, as `--ttl 1s` or `--ttl=1s`.
[[nodiscard]] bool is_given(const std::vector<std::string>& arguments, const std::string& option);

/// What the environment says, as arguments in front of those that were given: these are stronger,
/// and what a file says is weaker.
[[nodiscard]] std::vector<std::string> with_environment(const std::vector<std::string>& arguments);

/// The file where options may stand, if there is one: the user's, or the machine's. Else empty.
[[nodiscard]] std::string usual_file();

}  // namespace redlock::cli
