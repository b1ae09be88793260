#pragma once

#include <redlock/detail/export.hpp>

#include <string>

/**
 * @file
 * Makes the linker compare how a program and the library were compiled.
 *
 * Some compiler options change the layout of types that a program and the library share. For each
 * value of such a setting there is a function, which is never called. A unit that uses the types
 * refers to the functions of its own values. The library has only the functions of the values that
 * it was compiled with. So a program with another value does not link, and the linker prints the
 * name of the setting.
 */
namespace redlock {

/// Holds the function of a setting. The library redlock::testing has such functions of its own.
template <class Setting>
struct REDLOCK_API library_built_with {
    static void here() noexcept;
};

namespace setting {

/// Whether containers check how they are used, for which they have more members.
template <bool>
struct REDLOCK_API glibcxx_debug;

#if defined(_GLIBCXX_DEBUG)
using my_glibcxx_debug = glibcxx_debug<true>;
#else
using my_glibcxx_debug = glibcxx_debug<false>;
#endif

/// Whether strings have the ABI of C++11.
template <bool>
struct REDLOCK_API glibcxx_cxx11_abi;

#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
using my_glibcxx_cxx11_abi = glibcxx_cxx11_abi<false>;
#else
using my_glibcxx_cxx11_abi = glibcxx_cxx11_abi<true>;
#endif

/// Settings on which a unit must agree with a library. Each set of values has a table of its own,
/// so that the linker does not take one unit's table for another's.
template <class... Settings>
struct common {
    template <template <class> class Library>
    [[gnu::visibility("hidden")]] static constexpr void (*with[])() noexcept = {
        &Library<Settings>::here...};
};

/// Settings that change configurations and reports.
using in_containers = common<my_glibcxx_debug, my_glibcxx_cxx11_abi>;

}  // namespace setting
}  // namespace redlock

/// Keeps a unit's reference to a table, also where the linker drops unused sections.
#if __has_cpp_attribute(gnu::retain)
#define REDLOCK_KEPT gnu::used, gnu::retain
#else
#define REDLOCK_KEPT gnu::used
#endif
