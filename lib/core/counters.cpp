#include "core/counters.hpp"

#include <algorithm>
#include <cstddef>

namespace redlock::core {

using base::instant;
using base::nanos;

void counters::reserve()
{
    if (table_.empty()) {
        table_.resize(places);
    }
}

bool counters::knows(std::uint64_t resource, unsigned node, instant since,
                     instant now) const noexcept
{
    if (table_.empty()) {
        return false;
    }
    const known& k = table_[place_of(resource)];
    return k.resource == resource && (k.nodes & bit(node)) != 0 && k.begin >= since && k.end > now;
}

void counters::note(std::uint64_t resource, unsigned node, instant when, nanos life) noexcept
{
    if (table_.empty()) {
        return;
    }
    known& k = table_[place_of(resource)];
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
    if (table_.empty()) {
        return;
    }
    known& k = table_[place_of(resource)];
    if (k.resource == resource) {
        k.nodes &= ~bit(node);
    }
}

}  // namespace redlock::core
