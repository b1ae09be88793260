#pragma once

#include "base/instant.hpp"
#include "core/lease.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace redlock::core {

/// The identity of a reentrant owner; null: there is none.
using owner_identity = std::shared_ptr<const char>;

/// The leases of reentrant owners, which may get further holds of them.
class reentrant_holds {
public:
    /// If this throws, the caller must still remove the lease.
    /// @throws std::bad_alloc
    void add(const owner_identity& who, lease& l);
    void remove(lease& l) noexcept;

    /// A lease of the owner for all these resources, a valid one if there is one; null: there is
    /// none.
    [[nodiscard]] lease* find(const owner_identity& who, std::span<const std::string> resources,
                              base::instant now) const;
    /// Whether the owner has a valid lease of one of these resources.
    [[nodiscard]] bool has_one_of(const owner_identity& who, std::span<const std::string> resources,
                                  base::instant now) const;

private:
    struct held {
        /// Keeps the identity alive, so that no other owner gets its address.
        owner_identity by;
        lease* of = nullptr;
    };
    /// By owner and resource. A lease of several resources has an entry for each.
    std::unordered_multimap<std::size_t, held> all_;
};

}  // namespace redlock::core
