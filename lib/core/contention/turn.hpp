#pragma once

#include "base/instant.hpp"

#include <cstdint>

namespace redlock::core {

/// What an acquire must wait for before its next attempt.
struct turn {
    enum class kind : std::uint8_t {
        now,    ///< nothing
        local,  ///< its turn among the waiters of this client
        pause,  ///< `until`, or a notification
    };

    kind what = kind::now;
    base::instant until{};
};

}  // namespace redlock::core
