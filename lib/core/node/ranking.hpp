#pragma once

#include <cstdint>
#include <string_view>

/// In which order the nodes are preferred for a resource: one that all clients share, whatever
/// built them, and another one for each resource (rendezvous hashing).
namespace redlock::core {

/// FNV-1a.
[[nodiscard]] constexpr std::uint64_t name_hash(std::string_view name) noexcept
{
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return hash;
}

/// The node whose rank is the greatest comes first. The finalizer of SplitMix64: each bit of what
/// goes in stirs all of them.
[[nodiscard]] constexpr std::uint64_t rank(std::uint64_t resource, std::uint64_t node) noexcept
{
    std::uint64_t n = resource ^ node;
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
    return n ^ (n >> 31);
}

}  // namespace redlock::core
