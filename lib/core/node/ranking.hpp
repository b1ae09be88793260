#pragma once

#include <cstdint>
#include <string_view>

/// The order in which a client prefers the nodes for a resource (rendezvous hashing). All clients
/// have the same order, whatever compiler built them. Each resource has its own.
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

/// The rank of a node for a resource. The node with the greatest rank comes first. This is the
/// finalizer of SplitMix64, in which each input bit changes all output bits.
[[nodiscard]] constexpr std::uint64_t rank(std::uint64_t resource, std::uint64_t node) noexcept
{
    std::uint64_t n = resource ^ node;
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
    return n ^ (n >> 31);
}

}  // namespace redlock::core
