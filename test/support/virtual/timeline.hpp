#pragma once

#include "base/instant.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace redlock::test {

/// Virtual time and the events to come. Events of one instant happen in the order in which they
/// were added.
template <class Event>
class timeline {
public:
    using event_id = std::pair<base::instant, std::uint64_t>;

    explicit timeline(base::nanos begin) : now_(begin) {}

    [[nodiscard]] const base::instant& now() const noexcept { return now_; }

    event_id at(base::instant when, Event what)
    {
        const event_id id{when, ++serials_};
        events_.emplace_hint(events_.end(), id, std::move(what));
        return id;
    }
    void forget(const event_id& id) noexcept { events_.erase(id); }

    [[nodiscard]] bool empty() const noexcept { return events_.empty(); }
    /// The instant of the next event. Call it only if there is an event.
    [[nodiscard]] base::instant next() const noexcept { return events_.begin()->first.first; }

    /// Goes to the next event and removes it. An event whose time has passed happens now.
    std::pair<event_id, Event> take()
    {
        auto node = events_.extract(events_.begin());
        pass_to(node.key().first);
        return {node.key(), std::move(node.mapped())};
    }
    /// Lets time pass without an event. Time does not go back.
    void pass_to(base::instant then) noexcept { now_ = std::max(now_, then); }

private:
    base::instant now_;
    std::uint64_t serials_ = 0;
    std::map<event_id, Event> events_;
};

}  // namespace redlock::test
