#pragma once

#include "base/instant.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::test {

class sim_context;

/**
 * What a play runs by: virtual time, chance, and a hash of all that happened. One seed decides
 * everything; addresses and real time must not.
 */
class clockwork {
public:
    using event_id = std::pair<base::instant, std::uint64_t>;

    clockwork(std::uint64_t seed, std::ostream* trace) : chance_(seed), trace_(trace)
    {
        playing = this;
    }
    ~clockwork() { playing = nullptr; }
    clockwork(const clockwork&) = delete;
    clockwork& operator=(const clockwork&) = delete;

    [[nodiscard]] base::instant now() const noexcept { return steady_ + asleep_; }

    [[nodiscard]] std::uint64_t draw() noexcept;
    [[nodiscard]] std::uint32_t below(std::uint32_t n) noexcept
    {
        return static_cast<std::uint32_t>(draw() % n);
    }
    [[nodiscard]] bool one_in(std::uint32_t n) noexcept { return below(n) == 0; }
    /// From 0 to `most`, often 0.
    [[nodiscard]] base::nanos some_time(std::chrono::milliseconds most) noexcept;

    /// Something happened: it goes into the hash, and into the trace.
    void note(std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0);
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

    /// Something is wrong. The first report is kept.
    void fail(std::string_view what);
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }

    event_id at(base::nanos after, std::function<void()> what);
    void forget(const event_id& id) noexcept { events_.erase(id); }
    [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
    [[nodiscard]] base::instant next_event() const
    {
        return events_.begin()->first.first + asleep_;
    }
    /// By the clock of timers, whether it has happened or not.
    [[nodiscard]] base::nanos until(const event_id& id) const noexcept
    {
        return id.first - steady_;
    }
    /// Goes to the next event, and lets it happen.
    void advance();
    /// Time goes by while handlers are waiting for their turn.
    void lag(base::nanos by);
    /// The machine is suspended, and no event comes nearer by that.
    void suspend(base::nanos by);

    /// Whose handler runs, if any does.
    sim_context* running = nullptr;
    /// What `boot_clock` shows, of one at a time.
    static inline clockwork* playing = nullptr;

private:
    void mix(std::uint64_t word) noexcept;

    std::uint64_t chance_;
    std::ostream* trace_;
    std::uint64_t hash_ = 0;
    std::uint64_t serials_ = 0;
    base::instant steady_{std::chrono::seconds{1000}};
    /// Of the time that has gone by, what no timer has counted.
    base::nanos asleep_{};
    std::map<event_id, std::function<void()>> events_;
    std::string failure_;
};

}  // namespace redlock::test
