#include <redlock/redlock.hpp>
