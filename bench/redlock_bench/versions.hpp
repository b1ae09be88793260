#pragma once

#include <map>
#include <string>
#include <vector>

namespace redlock::bench {

/// Of the build and of the library; of OpenSSL, where one of those nodes speaks TLS.
[[nodiscard]] std::map<std::string, std::string> library_versions(
    const std::vector<std::string>& urls);

}  // namespace redlock::bench
