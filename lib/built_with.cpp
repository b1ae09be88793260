#include <redlock/detail/asio_built_with.hpp>
#include <redlock/detail/built_with.hpp>

namespace redlock {

template <class Setting>
void library_built_with<Setting>::here() noexcept
{}

// Refers to the functions of the library's own values, so that the compiler emits these functions
// and no others.
[[REDLOCK_KEPT]] static constexpr auto& compiled_here =
    setting::in_asio<setting::my_asio_exceptions>::with<library_built_with>;

}  // namespace redlock
