#pragma once

#include <redlock/detail/export.hpp>

#include <string_view>

/**
 * @file
 * The version of the library, in one place. The build and the packages read it from here.
 */

#define REDLOCK_VERSION_MAJOR 0  ///< Grows with each break of the interface, from 1.0 on.
#define REDLOCK_VERSION_MINOR 2  ///< Grows with additions, and below 1.0 with breaks.
#define REDLOCK_VERSION_PATCH 0  ///< Grows with corrections.

/// The version as one number, for comparisons. The last two decimal digits are the patch version,
/// and the two digits before them are the minor version.
#define REDLOCK_VERSION \
    (REDLOCK_VERSION_MAJOR * 10000 + REDLOCK_VERSION_MINOR * 100 + REDLOCK_VERSION_PATCH)

/// The public interface of the library.
namespace redlock {

/// Returns the version of the compiled library, as "major.minor.patch". The macros have the version
/// of the headers.
[[nodiscard]] REDLOCK_API std::string_view version() noexcept;

}  // namespace redlock
