#include "core/node/counters.hpp"

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

/// The places for the resource in `table`, which may be constant; empty before `reserve`.
template <class Table>
auto counters::places_in(Table& table, std::uint64_t resource) noexcept
{
    const std::span all(table);
    const std::size_t set = static_cast<std::size_t>(resource) & (table.size() / ways - 1);
    return all.empty() ? all : all.subspan(set * ways, ways);
}

bool counters::knows(std::uint64_t resource, unsigned node, instant now) const noexcept
{
    const auto places = places_in(table_, resource);
    const auto k = std::ranges::find(places, resource, &known::resource);
    return k != places.end() && is_seen(*k, node) && k->end > now;
}

bool counters::is_seen(const known& k, unsigned node) const noexcept
{
    return (k.nodes & bit(node)) != 0 && made_[node] <= k.youngest;
}

node_mask counters::others_that_know(const known& k, unsigned node) const noexcept
{
    node_mask others = 0;
    for (unsigned i = 0; i < max_nodes; ++i) {
        others |= i != node && is_seen(k, i) ? bit(i) : 0;
    }
    return others;
}

/// The entry keeps other nodes that have the counter; all share the earliest end. A node whose
/// present connection has not seen the counter is dropped before `youngest` changes. Otherwise it
/// would seem to have seen it.
void counters::note(std::uint64_t resource, unsigned node, instant when, nanos life) noexcept
{
    if (table_.empty()) {
        return;
    }
    known& k = place_for(resource, when);
    const instant end = when + life / 4 * 3;
    const bool is_own = k.resource == resource && k.end > when;
    const node_mask others = is_own ? others_that_know(k, node) : 0;
    if (others != 0) {
        k.end = std::min(k.end, end);
        k.youngest = std::max(k.youngest, made_[node]);
        k.nodes = others | bit(node);
    } else {
        k = {resource, end, made_[node], bit(node)};
    }
}

void counters::forget(std::uint64_t resource, unsigned node) noexcept
{
    const auto places = places_in(table_, resource);
    if (const auto k = std::ranges::find(places, resource, &known::resource); k != places.end()) {
        k->nodes &= ~bit(node);
    }
}

/// The entry of the resource, or else the entry that ends first. If that one has not ended yet, the
/// table grows first.
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

/// Doubles the table. Entries that shared places have twice as many then, so all of them find room.
bool counters::grow() noexcept
{
    if (table_.size() == most) {
        return false;
    }
    std::vector<known> before;
    try {
        before.resize(table_.size() * 2);
    } catch (const std::bad_alloc&) {
        return false;  // The client then sends the script more often.
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
