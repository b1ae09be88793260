#pragma once

#include <redlock/detail/export.hpp>

#include <string_view>

/**
 * @file
 * The one place that states the version; the build and the packages read it from here.
 */

#define REDLOCK_VERSION_MAJOR 0  ///< changes with the interface
#define REDLOCK_VERSION_MINOR 1  ///< grows with it; below version one it may break it
#define REDLOCK_VERSION_PATCH 0  ///< grows with what was mended

/// To compare with: 0.1.0 is 100, 1.2.3 is 10203.
#define REDLOCK_VERSION \
    (REDLOCK_VERSION_MAJOR * 10000 + REDLOCK_VERSION_MINOR * 100 + REDLOCK_VERSION_PATCH)

/// All that the library offers.
namespace redlock {

/// The version of the compiled library, as "major.minor.patch"; the macros tell that of the
/// headers.
[[nodiscard]] REDLOCK_API std::string_view version() noexcept;

}  // namespace redlock
