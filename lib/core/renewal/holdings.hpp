#pragma once

#include "base/instant.hpp"
#include "core/lease.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace redlock::core {

/// On whose behalf a lease is held; null: nobody's in particular.
using owner_identity = std::shared_ptr<const char>;

/// The leases that are held on behalf of owners, for those who want to hold them once more.
class holdings {
public:
    /// Where it throws, the lease is to be removed as if it had not.
    /// @throws std::bad_alloc
    void add(const owner_identity& who, lease& l);
    void remove(lease& l) noexcept;

    /// One of the owner's leases that is of all these resources; rather one that is valid yet.
    [[nodiscard]] lease* find(const owner_identity& who, std::span<const std::string> resources,
                              base::instant now) const;
    /// Whether one of these resources is under a lease of the owner that is valid.
    [[nodiscard]] bool has_one_of(const owner_identity& who, std::span<const std::string> resources,
                                  base::instant now) const;

private:
    struct held {
        /// Keeps its address from being another owner's.
        owner_identity by;
        lease* of = nullptr;
    };
    /// By owner and resource; once for each of several.
    std::unordered_multimap<std::size_t, held> all_;
};

}  // namespace redlock::core
