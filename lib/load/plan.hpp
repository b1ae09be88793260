#pragma once

#include <redlock/config.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace redlock::bench {

/// How a worker calls the library.
enum class api { callback, await };

/// The work of the workers.
struct plan {
    api style = api::callback;
    std::size_t workers = 64;
    /// Worker i takes resource i modulo this. With fewer resources than workers, workers contend.
    std::size_t resources = 64;
    /// The beginning of their names. Empty: names that only this run has.
    std::string names;
    /// Further resources. Each worker takes one of them in every 16th cycle.
    std::size_t shared = 0;
    /// Further locks that the client holds during the whole run.
    std::size_t held = 0;
    std::chrono::milliseconds hold{0};
    std::chrono::milliseconds hold_shared{0};
    /// The wait after an acquire that gave no lock.
    std::chrono::milliseconds pause{1};
    acquire_options acquire;
};

}  // namespace redlock::bench
