#include "core/contention/leader_table.hpp"

#include <bit>
#include <cassert>
#include <functional>
#include <new>

namespace redlock::core {

std::uint64_t hash_of(std::string_view resource) noexcept
{
    return std::hash<std::string_view>{}(resource);
}

/// Linear hashing: with any number of chains, of which those from half the next power of two on
/// were split off from the first ones.
std::size_t leader_table::place_of(std::uint64_t hash) const noexcept
{
    const std::size_t mask = std::bit_ceil(chains_.size()) - 1;
    const auto place = static_cast<std::size_t>(hash) & mask;
    return place < chains_.size() ? place : place & (mask >> 1);
}

lease* leader_table::find(std::string_view resource) const noexcept
{
    const std::uint64_t hash = hash_of(resource);
    lease* l = chains_[place_of(hash)];
    while (l != nullptr && (l->resource_hash != hash || l->resource != resource)) {
        l = l->next_leading;
    }
    return l;
}

lease& leader_table::find_or_add(lease& l) noexcept
{
    assert(!l.leads);
    lease*& first = chains_[place_of(l.resource_hash)];
    for (lease* at = first; at != nullptr; at = at->next_leading) {
        if (at->resource_hash == l.resource_hash && at->resource == l.resource) {
            return *at;
        }
    }
    l.next_leading = first;
    l.leads = true;
    first = &l;
    ++size_;
    grow();
    return l;
}

/// What points to it.
lease*& leader_table::link_to(lease& l) noexcept
{
    lease** link = &chains_[place_of(l.resource_hash)];
    while (*link != &l) {
        link = &(*link)->next_leading;
    }
    return *link;
}

void leader_table::remove(lease& l) noexcept
{
    assert(l.leads);
    link_to(l) = l.next_leading;
    l.next_leading = nullptr;
    l.leads = false;
    --size_;
}

void leader_table::replace(lease& l, lease& next) noexcept
{
    assert(l.leads && !next.leads && l.resource == next.resource);
    link_to(l) = &next;
    next.next_leading = l.next_leading;
    next.leads = true;
    l.next_leading = nullptr;
    l.leads = false;
}

void leader_table::grow() noexcept
{
    // One more than a lease is due, where memory was short before.
    for (std::size_t i = 0; i <= chains_a_lease && chains_.size() < size_ * chains_a_lease; ++i) {
        try {
            split_one();
        } catch (const std::bad_alloc&) {
            return;  // then chains grow longer
        }
    }
}

void leader_table::split_one()
{
    const std::size_t added = chains_.size();
    chains_.push_back(nullptr);
    lease** link = &chains_[added - std::bit_floor(added)];
    while (lease* const l = *link) {
        if (place_of(l->resource_hash) == added) {
            *link = l->next_leading;
            l->next_leading = chains_[added];
            chains_[added] = l;
        } else {
            link = &l->next_leading;
        }
    }
}

}  // namespace redlock::core
