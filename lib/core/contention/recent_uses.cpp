#include "core/contention/recent_uses.hpp"

#include <algorithm>
#include <new>

namespace redlock::core {

using base::instant;

recent_uses::use* recent_uses::find(std::uint64_t resource, instant now) noexcept
{
    for (use& u : bucket_of(resource)) {
        if (u.resource == resource && u.until >= now) {
            return &u;
        }
    }
    return nullptr;
}

recent_uses::use& recent_uses::note(std::uint64_t resource, instant now, instant until) noexcept
{
    if (use* const known = find(resource, now)) {
        known->until = until;
        return *known;
    }
    use* place = &oldest(resource);
    while (place->until >= now && grow()) {
        place = &oldest(resource);
    }
    *place = {.resource = resource, .until = until, .asked = now};
    return *place;
}

recent_uses::use& recent_uses::oldest(std::uint64_t resource) noexcept
{
    return *std::ranges::min_element(bucket_of(resource), {}, &use::until);
}

/// Doubles the table. Uses that shared a bucket have two then.
bool recent_uses::grow() noexcept
{
    if (table_.size() == most) {
        return false;
    }
    std::vector<bucket> before;
    try {
        before.resize(2 * table_.size());
    } catch (const std::bad_alloc&) {
        return false;  // the oldest use is forgotten
    }
    before.swap(table_);
    for (const bucket& b : before) {
        for (const use& u : b) {
            if (u.until != instant::min()) {
                oldest(u.resource) = u;
            }
        }
    }
    return true;
}

}  // namespace redlock::core
