#pragma once

#include <redlock/detail/export.hpp>

#include <string_view>

// The one place that states the version; the build and the packages read it from here.
#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0

/// To compare with: 0.1.0 is 100, 1.2.3 is 10203.
#define REDLOCK_VERSION \
    (REDLOCK_VERSION_MAJOR * 10000 + REDLOCK_VERSION_MINOR * 100 + REDLOCK_VERSION_PATCH)

namespace redlock {

/// The version of the compiled library, as "major.minor.patch"; the macros tell that of the
/// headers.
[[nodiscard]] REDLOCK_API std::string_view version() noexcept;

}  // namespace redlock
