#pragma once

#include <redlock/config.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace redlock::bench {

/// How a worker calls the library.
enum class api { callback, await };

/// What the workers do.
struct plan {
    api style = api::callback;
    std::size_t workers = 64;
    /// Worker i takes resource i modulo this: fewer than workers are contended for.
    std::size_t resources = 64;
    /// What their names begin with. Empty: they are of this run alone.
    std::string names;
    /// Further resources, to which each worker turns in every 16th cycle.
    std::size_t shared = 0;
    /// Further locks that the client has all the while.
    std::size_t held = 0;
    std::chrono::milliseconds hold{0};
    std::chrono::milliseconds hold_shared{0};
    /// After an acquire that gave nothing.
    std::chrono::milliseconds pause{1};
    acquire_options acquire;
};

}  // namespace redlock::bench
