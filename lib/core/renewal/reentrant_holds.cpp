#include "core/renewal/reentrant_holds.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace redlock::core {
namespace {

bool is_of_all(const lease& l, std::span<const std::string> resources)
{
    const auto names = l.resources();
    return std::all_of(resources.begin(), resources.end(), [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    });
}

std::size_t key_of(const char* owner, std::string_view resource) noexcept
{
    return std::hash<std::string_view>{}(resource) ^ std::hash<const char*>{}(owner);
}

}  // namespace

void reentrant_holds::add(const owner_identity& who, lease& l)
{
    l.held_by = who.get();
    for (const std::string& name : l.resources()) {
        all_.emplace(key_of(who.get(), name), held{who, &l});
    }
}

void reentrant_holds::remove(lease& l) noexcept
{
    const char* const owner = std::exchange(l.held_by, nullptr);
    if (owner == nullptr) {
        return;
    }
    for (const std::string& name : l.resources()) {
        const auto [first, last] = all_.equal_range(key_of(owner, name));
        const auto at =
            std::find_if(first, last, [&l](const auto& entry) { return entry.second.of == &l; });
        if (at != last) {
            all_.erase(at);
        }
    }
}

lease* reentrant_holds::find(const owner_identity& who, std::span<const std::string> resources,
                             base::instant now) const
{
    lease* found = nullptr;
    const auto [first, last] = all_.equal_range(key_of(who.get(), resources.front()));
    for (auto at = first; at != last; ++at) {
        lease& l = *at->second.of;
        const bool is_its = at->second.by == who && is_of_all(l, resources);
        if (is_its && (found == nullptr || found->valid_until() <= now)) {
            found = &l;
        }
    }
    return found;
}

bool reentrant_holds::has_one_of(const owner_identity& who, std::span<const std::string> resources,
                                 base::instant now) const
{
    return std::any_of(resources.begin(), resources.end(), [&](const std::string& name) {
        const auto [first, last] = all_.equal_range(key_of(who.get(), name));
        return std::any_of(first, last, [&](const auto& entry) {
            const held& h = entry.second;
            return h.by == who && h.of->valid_until() > now &&
                   is_of_all(*h.of, std::span(&name, 1));
        });
    });
}

}  // namespace redlock::core
