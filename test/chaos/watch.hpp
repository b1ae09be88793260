#pragma once

#include "chaos/history.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace redlock::chaos {

/// Who took what when, as far as is known now.
struct outlook {
    /// A client, and the lock that nobody wants but it.
    struct client {
        bool goes = false;
        nanos going_since = 0;
        nanos last_acquired = 0;
    };
    std::vector<client> clients;
    /// When anybody last took each of the locks that all contend for.
    std::vector<nanos> shared;
};

/// What was watched, and what was seen.
struct watch_record {
    struct locks {
        nanos patience = 0;
        nanos longest_without = 0;  ///< of the time that counts
        /// The longest that it counted at a stretch: a complaint takes more than the patience.
        nanos unbroken = 0;
    };
    nanos counted = 0;  ///< of all the time
    locks own;
    locks shared;
};

/**
 * Why that is too little of a run of so long; nothing where it is enough. At a stretch more than
 * each patience, or there could not have been a complaint; and half of the time: with a majority of
 * the masters well nearly all of it counts, but on a machine that has little time for the test.
 */
[[nodiscard]] std::optional<std::string> too_little(const watch_record& what, nanos time);

/**
 * Whether everybody gets on who could. A client has to take the lock that nobody else wants once in
 * every patience, and somebody each of those that all contend for, counted only while a majority of
 * the masters answers the probe without a gap, while the client goes, or any, and while the watch
 * itself is on time: so a machine that has no time for the test excuses everybody.
 */
class progress_watch {
public:
    progress_watch(std::chrono::nanoseconds own_patience, std::chrono::nanoseconds shared_patience);

    /// To be called every few milliseconds. A complaint, or nothing.
    std::optional<std::string> look(nanos at, bool majority_answers, const outlook& all);

    [[nodiscard]] const watch_record& seen() const noexcept { return seen_; }

private:
    std::optional<std::string> look_at(watch_record::locks& kind, nanos at, nanos since,
                                       nanos acquired, const std::string& without);

    watch_record seen_;
    nanos last_look_ = 0;
    nanos possible_since_ = 0;
};

/// What has not been taken again since then, of all locks, in words.
[[nodiscard]] std::string not_taken_since(nanos then, const outlook& all);

}  // namespace redlock::chaos
