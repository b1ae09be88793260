#pragma once

#include "core/lease.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace redlock::core {

/// The leases that lead, one a resource: see `wait_queue`. A hash table whose chains go through the
/// leases, so that none costs an allocation, and that grows by a few chains at a time, so that no
/// lease waits until all others are put elsewhere.
class leader_table {
public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] lease* find(std::string_view resource) const noexcept;

    /// The lease that leads the resource of `l`: `l` itself from now on, if none did.
    lease& find_or_add(lease& l) noexcept;
    void remove(lease& l) noexcept;
    /// `next`, of the same resource, leads in place of `l`.
    void replace(lease& l, lease& next) noexcept;

private:
    [[nodiscard]] std::size_t place_of(std::uint64_t hash) const noexcept;
    [[nodiscard]] lease*& link_to(lease& l) noexcept;
    void grow() noexcept;
    void split_one();

    /// Most chains are empty then. So a search for a resource without a leader mostly reads no
    /// lease. That would be a cache miss if very many are held.
    static constexpr std::size_t chains_a_lease = 4;

    std::vector<lease*> chains_ = std::vector<lease*>(16);
    std::size_t size_ = 0;
};

/// Of a resource, for tables.
[[nodiscard]] std::uint64_t hash_of(std::string_view resource) noexcept;

}  // namespace redlock::core
