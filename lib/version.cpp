#include <redlock/version.hpp>

#define REDLOCK_TEXT_OF(x) #x
#define REDLOCK_TEXT(x) REDLOCK_TEXT_OF(x)

namespace redlock {

std::string_view version() noexcept
{
    return REDLOCK_TEXT(REDLOCK_VERSION_MAJOR) "." REDLOCK_TEXT(REDLOCK_VERSION_MINOR) "."  //
        REDLOCK_TEXT(REDLOCK_VERSION_PATCH);
}

}  // namespace redlock
