#include <redlock/detail/asio_built_with.hpp>
#include <redlock/testing/scripted_node.hpp>

namespace redlock::testing {

template <class Setting>
void library_built_with<Setting>::here() noexcept
{}

// Refers to the functions of the library's own values, so that the compiler emits these functions
// and no others.
[[REDLOCK_KEPT]] static constexpr auto& compiled_here =
    setting::in_asio<>::with<library_built_with>;

}  // namespace redlock::testing
