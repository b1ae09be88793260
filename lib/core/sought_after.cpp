#include "core/sought_after.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace redlock::core {

using base::instant;

/// In `table`, which may be constant.
template <class Table>
auto sought_after::places_in(Table& table, std::uint64_t resource) noexcept
{
    const std::size_t set = static_cast<std::size_t>(resource) & (table.size() / ways - 1);
    return std::span(table).subspan(set * ways, ways);
}

sought_after::seen* sought_after::place_of(std::uint64_t resource, instant now) noexcept
{
    for (seen& there : places_in(table_, resource)) {
        if (there.resource == resource && now < there.until) {
            return &there;
        }
    }
    return nullptr;
}

const stint* sought_after::find(std::uint64_t resource, instant now) const noexcept
{
    return const_cast<sought_after*>(this)->find(resource, now);
}

stint* sought_after::find(std::uint64_t resource, instant now) noexcept
{
    seen* const there = place_of(resource, now);
    return there != nullptr ? &there->of_client : nullptr;
}

void sought_after::keep(std::uint64_t resource, instant now, instant end) noexcept
{
    seen* const there = place_of(resource, now);
    if (there == nullptr) {
        return;
    }
    there->until = end + long_enough;
    if (now < there->of_client.contended_until) {
        there->of_client.contended_until = there->until;
    }
}

stint& sought_after::note(std::uint64_t resource, instant now, instant end) noexcept
{
    seen* there = place_of(resource, now);
    if (there == nullptr) {
        there = free_place(resource, now);
        if (there == nullptr) {
            there = &*std::ranges::min_element(places_in(table_, resource), {}, &seen::until);
        }
        *there = {resource, now, stint::begun(now)};
    }
    there->until = std::max({there->until, now + long_enough, end + long_enough});
    return there->of_client;
}

stint* sought_after::note_turn(std::uint64_t resource, instant now, instant since) noexcept
{
    if (stint* const known = find(resource, now)) {
        return known;
    }
    seen* const there = free_place(resource, now);
    if (there == nullptr) {
        return nullptr;
    }
    *there = {resource, now + long_enough, stint::begun(since)};
    there->of_client.lonely_rests = most_lonely_rests;
    return &there->of_client;
}

/// Whose time has passed; in a larger table if there is none.
sought_after::seen* sought_after::free_place(std::uint64_t resource, instant now) noexcept
{
    do {
        for (seen& there : places_in(table_, resource)) {
            if (there.until <= now) {
                return &there;
            }
        }
    } while (grow(now));
    return nullptr;
}

/// False: it is as large as it may be, or there is no memory.
bool sought_after::grow(instant now) noexcept
{
    if (table_.size() == most) {
        return false;
    }
    try {
        std::vector<seen> larger(2 * table_.size());
        for (const seen& there : table_) {
            if (there.until > now) {
                // Each of its new places is shared by fewer than shared the old ones.
                *std::ranges::find(places_in(larger, there.resource), instant::min(),
                                   &seen::until) = there;
            }
        }
        table_ = std::move(larger);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

}  // namespace redlock::core
