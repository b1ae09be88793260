#include <redlock/client.hpp>
