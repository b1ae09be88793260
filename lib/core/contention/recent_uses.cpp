#include "core/contention/recent_uses.hpp"

#include <new>

namespace redlock::core {

using base::instant;

recent_uses::use* recent_uses::find(std::uint64_t resource, instant now) noexcept
{
    const auto its = uses_.find(resource);
    return its != uses_.end() && its->second.until >= now ? &its->second : nullptr;
}

recent_uses::use& recent_uses::note(std::uint64_t resource, instant now, instant until) noexcept
{
    use* u = find(resource, now);
    if (u == nullptr) {
        if (uses_.size() == most) {
            erase_if(uses_, [now](const auto& each) { return each.second.until < now; });
            if (uses_.size() > most / 2) {
                uses_.clear();
            }
        }
        try {
            u = &uses_[resource];
        } catch (const std::bad_alloc&) {
            u = &forgotten_;
        }
        *u = {.asked = now};
    }
    u->until = until;
    return *u;
}

}  // namespace redlock::core
