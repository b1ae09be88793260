#include "core/counters.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>

namespace redlock::core {

using base::instant;
using base::nanos;

void counters::reserve()
{
    if (table_.empty()) {
        table_.resize(fewest);
    }
}

/// In `table`, which may be constant. None while there is no memory.
template <class Table>
auto counters::places_in(Table& table, std::uint64_t resource) noexcept
{
    const std::span all(table);
    const std::size_t set = static_cast<std::size_t>(resource) & (table.size() / ways - 1);
    return all.empty() ? all : all.subspan(set * ways, ways);
}

bool counters::knows(std::uint64_t resource, unsigned node, instant since,
                     instant now) const noexcept
{
    const auto places = places_in(table_, resource);
    const auto k = std::ranges::find(places, resource, &known::resource);
    return k != places.end() && (k->nodes & bit(node)) != 0 && k->begin >= since && k->end > now;
}

void counters::note(std::uint64_t resource, unsigned node, instant when, nanos life) noexcept
{
    if (table_.empty()) {
        return;
    }
    known& k = place_for(resource, when);
    const instant end = when + life / 4 * 3;
    // Several nodes share one pair of instants: the earliest of them, unless that is of no use to
    // this one any more.
    const bool joins =
        k.resource == resource && k.begin <= when && k.end > when && (k.nodes & bit(node)) == 0;
    if (joins) {
        k.nodes |= bit(node);
        k.end = std::min(k.end, end);
    } else {
        k = {resource, when, end, bit(node)};
    }
}

void counters::forget(std::uint64_t resource, unsigned node) noexcept
{
    const auto places = places_in(table_, resource);
    if (const auto k = std::ranges::find(places, resource, &known::resource); k != places.end()) {
        k->nodes &= ~bit(node);
    }
}

/// Its own, or else the one that is over first; not before the table has grown if that is not yet
/// over.
counters::known& counters::place_for(std::uint64_t resource, instant when) noexcept
{
    const auto choose = [&]() -> known& {
        const auto places = places_in(table_, resource);
        const auto own = std::ranges::find(places, resource, &known::resource);
        return own != places.end() ? *own : *std::ranges::min_element(places, {}, &known::end);
    };
    known& k = choose();
    return k.resource != resource && k.end > when && grow() ? choose() : k;
}

/// What shared some places before has twice as many now, so that there is room for all of it.
bool counters::grow() noexcept
{
    if (table_.size() == most) {
        return false;
    }
    std::vector<known> before;
    try {
        before.resize(table_.size() * 2);
    } catch (const std::bad_alloc&) {
        return false;  // then some are counted by the script
    }
    before.swap(table_);
    for (const known& k : before) {
        if (k.nodes != 0) {
            *std::ranges::min_element(places_in(table_, k.resource), {}, &known::end) = k;
        }
    }
    return true;
}

}  // namespace redlock::core
