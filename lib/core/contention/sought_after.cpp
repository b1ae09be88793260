#include "core/contention/sought_after.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace redlock::core {

using base::instant;

std::optional<sought_after::place> sought_after::place_of(std::uint64_t resource,
                                                          instant now) noexcept
{
    bucket& b = bucket_of(resource);
    for (std::size_t n = 0; n < ways; ++n) {
        const std::size_t i = nth_place(resource, n);
        if (b.resources[i] == resource && now < b.until[i]) {
            return place{&b, i};
        }
    }
    return {};
}

const stint* sought_after::find(std::uint64_t resource, instant now) const noexcept
{
    return const_cast<sought_after*>(this)->find(resource, now);
}

stint* sought_after::find(std::uint64_t resource, instant now) noexcept
{
    const auto there = place_of(resource, now);
    return there ? &there->of_client() : nullptr;
}

void sought_after::keep(std::uint64_t resource, instant now, instant end) noexcept
{
    const auto there = place_of(resource, now);
    if (!there) {
        return;
    }
    there->until() = end + long_enough;
    if (now < there->of_client().contended_until) {
        there->of_client().contended_until = there->until();
    }
}

stint& sought_after::note(std::uint64_t resource, instant now, instant end) noexcept
{
    auto there = place_of(resource, now);
    if (!there) {
        there = free_place(resource, now);
        if (!there) {
            bucket& b = bucket_of(resource);
            const auto first_to_end = std::ranges::min_element(b.until);
            there = {&b, static_cast<std::size_t>(first_to_end - b.until.begin())};
        }
        put(*there, resource, now, now);
    }
    there->until() = std::max({there->until(), now + long_enough, end + long_enough});
    return there->of_client();
}

stint* sought_after::note_turn(std::uint64_t resource, instant now, instant since) noexcept
{
    if (stint* const known = find(resource, now)) {
        return known;
    }
    const auto there = free_place(resource, now);
    if (!there) {
        return nullptr;
    }
    stint& s = put(*there, resource, now + long_enough, since);
    s.lonely_rests = most_lonely_rests;
    return &s;
}

stint& sought_after::put(place there, std::uint64_t resource, instant until, instant begun) noexcept
{
    there.of->resources[there.index] = resource;
    there.until() = until;
    return there.of_client() = stint::begun(begun);
}

/// Whose time has passed; in a larger table if there is none.
std::optional<sought_after::place> sought_after::free_place(std::uint64_t resource,
                                                            instant now) noexcept
{
    do {
        bucket& b = bucket_of(resource);
        for (std::size_t n = 0; n < ways; ++n) {
            const std::size_t i = nth_place(resource, n);
            if (b.until[i] <= now) {
                return place{&b, i};
            }
        }
    } while (grow(now));
    return {};
}

/// False: it is as large as it may be, or there is no memory.
bool sought_after::grow(instant now) noexcept
{
    if (table_.size() == most) {
        return false;
    }
    std::vector<bucket> larger;
    try {
        larger.resize(2 * table_.size());
    } catch (const std::bad_alloc&) {
        return false;
    }
    const std::vector<bucket> smaller = std::exchange(table_, std::move(larger));
    for (const bucket& b : smaller) {
        for (std::size_t i = 0; i < ways; ++i) {
            if (b.until[i] > now) {
                // All in a new bucket come from one old one: there is room.
                const auto there = free_place(b.resources[i], now);
                assert(there);
                put(*there, b.resources[i], b.until[i], now) = b.of_client[i];
            }
        }
    }
    return true;
}

}  // namespace redlock::core
