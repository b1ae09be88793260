// expect: could not convert|no viable conversion|conversion from .* requested
#include <redlock/config.hpp>

using namespace std::chrono_literals;

#ifdef REDLOCK_TWIN
redlock::acquire_options options{.ttl = 1500ms};
#else
redlock::acquire_options options{.ttl = 1500us};
#endif
