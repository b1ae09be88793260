#pragma once

#include "base/wipe.hpp"

#include <string>

namespace redlock::base {

/// User and password of a connection. With both empty it does not log in.
struct login {
    std::string user;
    secret password;
};

}  // namespace redlock::base
