#pragma once

#include <map>
#include <string>
#include <vector>

namespace redlock::bench {

/// Versions of the build and of the library, and of OpenSSL if one of those nodes has TLS.
[[nodiscard]] std::map<std::string, std::string> library_versions(
    const std::vector<std::string>& urls);

}  // namespace redlock::bench
