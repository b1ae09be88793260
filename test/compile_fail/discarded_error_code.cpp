// expect: nodiscard|unused-result
#include <redlock/error.hpp>

void attempt()
{
#ifdef REDLOCK_TWIN
    [[maybe_unused]] redlock::error_code error =
#endif
        make_error_code(redlock::errc::lost);
}
