#pragma once

#include "base/wipe.hpp"

#include <string>

namespace redlock::base {

/// User and password of a connection. If both are empty, the client doesn't log in.
struct login {
    std::string user;
    secret password;
};

}  // namespace redlock::base
