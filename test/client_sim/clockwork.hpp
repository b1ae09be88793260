#pragma once

#include "support/virtual/random.hpp"
#include "support/virtual/timeline.hpp"

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace redlock::test {

class sim_context;

/**
 * The basis of a play: virtual time, random numbers, and a hash of all events. One seed decides
 * everything. Addresses and real time have no effect.
 */
class clockwork {
public:
    using event_id = timeline<std::function<void()>>::event_id;

    clockwork(std::uint64_t seed, std::ostream* trace) : chance_(seed), trace_(trace)
    {
        playing = this;
    }
    ~clockwork() { playing = nullptr; }
    clockwork(const clockwork&) = delete;
    clockwork& operator=(const clockwork&) = delete;

    [[nodiscard]] base::instant now() const noexcept { return events_.now() + asleep_; }

    [[nodiscard]] std::uint32_t below(std::uint32_t n) noexcept
    {
        return static_cast<std::uint32_t>(chance_.below(n));
    }
    [[nodiscard]] bool one_in(std::uint32_t n) noexcept { return below(n) == 0; }
    /// From 0 to `most`, often 0.
    [[nodiscard]] base::nanos some_time(std::chrono::milliseconds most) noexcept;

    /// Adds an event to the hash and to the trace.
    void note(std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0);
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

    /// Reports a failure. The first report is kept.
    void fail(std::string_view what);
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }

    event_id at(base::nanos after, std::function<void()> what);
    void forget(const event_id& id) noexcept { events_.forget(id); }
    [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
    [[nodiscard]] base::instant next_event() const { return events_.next() + asleep_; }
    /// Time until the event by the clock of timers. Also for an event that has passed.
    [[nodiscard]] base::nanos until(const event_id& id) const noexcept
    {
        return id.first - events_.now();
    }
    /// Goes to the next event and runs it.
    void advance();
    /// Lets time pass while handlers wait for their turn.
    void lag(base::nanos by);
    /// Suspends the machine. No timer event comes nearer.
    void suspend(base::nanos by);

    /// The context whose handler runs, or null.
    sim_context* running = nullptr;
    /// The clockwork that `boot_clock` shows. One at a time.
    static inline clockwork* playing = nullptr;

private:
    void mix(std::uint64_t word) noexcept;

    random_source chance_;
    std::ostream* trace_;
    std::uint64_t hash_ = 0;
    /// Its time is the one that timers count.
    timeline<std::function<void()>> events_{std::chrono::seconds{1000}};
    /// The part of the passed time that timers do not count.
    base::nanos asleep_{};
    std::string failure_;
};

}  // namespace redlock::test
