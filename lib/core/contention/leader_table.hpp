#pragma once

#include "core/lease.hpp"

#include <boost/intrusive/unordered_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace redlock::core {

/// The leases that lead, one a resource: see `wait_queue`. None costs an allocation of its own.
class leader_table {
public:
    [[nodiscard]] std::size_t size() const noexcept { return leaders_.size(); }
    [[nodiscard]] lease* find(std::string_view resource) noexcept;

    /// The lease that leads the resource of `l`: `l` itself from now on, if none did.
    lease& find_or_add(lease& l) noexcept;
    void remove(lease& l) noexcept;
    /// `next`, of the same resource, leads in place of `l`.
    void replace(lease& l, lease& next) noexcept;

private:
    struct hash_of_lease {
        std::size_t operator()(const lease& l) const noexcept
        {
            return static_cast<std::size_t>(l.resource_hash);
        }
    };
    struct have_one_resource {
        bool operator()(const lease& a, const lease& b) const noexcept
        {
            return a.resource_hash == b.resource_hash && a.resource == b.resource;
        }
    };
    using table = boost::intrusive::unordered_set<
        lease, boost::intrusive::base_hook<leader_hook>, boost::intrusive::hash<hash_of_lease>,
        boost::intrusive::equal<have_one_resource>, boost::intrusive::power_2_buckets<true>>;

    void grow() noexcept;

    std::vector<table::bucket_type> chains_{16};
    table leaders_{{chains_.data(), chains_.size()}};
};

/// Of a resource, for tables.
[[nodiscard]] std::uint64_t hash_of(std::string_view resource) noexcept;

}  // namespace redlock::core
