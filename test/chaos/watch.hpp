#pragma once

#include "chaos/history.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace redlock::chaos {

/// The clients' progress as far as it is known now.
struct outlook {
    /// A client and the lock that only it wants.
    struct client {
        bool goes = false;
        nanos going_since = 0;
        nanos last_acquired = 0;
    };
    /// A lock that all clients want.
    struct contended_lock {
        nanos last_acquired = 0;
        nanos held_until = 0;
    };
    std::vector<client> clients;
    std::vector<contended_lock> shared;
};

/// The watched time and its results.
struct watch_record {
    struct locks {
        nanos patience = 0;
        nanos longest_without = 0;  ///< within the counted time
        /// The longest counted stretch. A complaint needs more than the patience.
        nanos unbroken = 0;
    };
    nanos counted = 0;  ///< of the whole time
    locks own;
    locks shared;
};

/**
 * Why the watched time is too short for a run of this length. Nothing if it is enough: one stretch
 * longer than each patience, or no complaint was possible, and half of the time. With a healthy
 * majority nearly all of it counts, except on a machine that has little time for the test.
 */
[[nodiscard]] std::optional<std::string> too_little(const watch_record& what, nanos time);

/**
 * Whether each client that could make progress does. Once in every patience, a client must take its
 * own lock, and some client must have each shared lock. Time counts only while a majority of the
 * nodes answers the probe without a gap, while the client (or any client) runs, and while the watch
 * is on time. So a machine that has no time for the test excuses all clients.
 */
class progress_watch {
public:
    progress_watch(std::chrono::nanoseconds own_patience, std::chrono::nanoseconds shared_patience);

    /// To be called every few milliseconds. Returns a complaint or nothing.
    std::optional<std::string> look(nanos at, bool majority_answers, const outlook& all);

    [[nodiscard]] const watch_record& seen() const noexcept { return seen_; }

private:
    std::optional<std::string> look_at(watch_record::locks& kind, nanos at, nanos since,
                                       nanos acquired, const std::string& without);

    watch_record seen_;
    nanos last_look_ = 0;
    nanos possible_since_ = 0;
};

/// The locks that no client has taken again since then, in words.
[[nodiscard]] std::string not_taken_since(nanos then, const outlook& all);

}  // namespace redlock::chaos
