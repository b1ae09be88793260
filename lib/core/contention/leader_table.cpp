#include "core/contention/leader_table.hpp"

#include <cassert>
#include <functional>
#include <new>
#include <utility>

namespace redlock::core {

std::uint64_t hash_of(std::string_view resource) noexcept
{
    return std::hash<std::string_view>{}(resource);
}

lease* leader_table::find(std::string_view resource) noexcept
{
    const std::uint64_t hash = hash_of(resource);
    const auto found = leaders_.find(
        resource, [hash](std::string_view) { return static_cast<std::size_t>(hash); },
        [hash](std::string_view name, const lease& l) {
            return l.resource_hash == hash && l.resource == name;
        });
    return found == leaders_.end() ? nullptr : &*found;
}

lease& leader_table::find_or_add(lease& l) noexcept
{
    assert(!l.leads);
    const auto [place, is_new] = leaders_.insert(l);
    if (is_new) {
        l.leads = true;
        grow();
    }
    return *place;
}

void leader_table::remove(lease& l) noexcept
{
    assert(l.leads);
    leaders_.erase(leaders_.iterator_to(l));
    l.leads = false;
}

void leader_table::replace(lease& l, lease& next) noexcept
{
    assert(!next.leads && l.resource == next.resource);
    remove(l);
    leaders_.insert(next);
    next.leads = true;
}

/// Most chains are empty then. So a search for a resource without a leader mostly reads no lease.
/// That would be a cache miss if very many are held.
void leader_table::grow() noexcept
{
    constexpr std::size_t chains_a_lease = 2;
    if (chains_.size() >= size() * chains_a_lease) {
        return;
    }
    try {
        std::vector<table::bucket_type> more(2 * chains_.size());
        leaders_.rehash({more.data(), more.size()});
        chains_.swap(more);
    } catch (const std::bad_alloc&) {
        return;  // then chains grow longer
    }
}

}  // namespace redlock::core
