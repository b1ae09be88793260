// expect: could not convert|no viable conversion|conversion from .* requested
#include <redlock/config.hpp>

using namespace std::chrono_literals;

#ifdef REDLOCK_TWIN
redlock::acquire_options options{.timeout = 2s};
#else
redlock::acquire_options options{.timeout = 2};
#endif
