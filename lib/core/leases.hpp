#pragma once

#include <redlock/error.hpp>

#include "core/contention/contention.hpp"
#include "core/lease.hpp"
#include "core/node/context.hpp"
#include "core/node/node.hpp"
#include "core/pool.hpp"
#include "core/renewal/reentrant_holds.hpp"
#include "core/renewal/renewals.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace redlock::core {

/// The leases of a client: makes them, counts their holds, labels them, and ends them.
class leases {
public:
    /// All arguments must outlive the object.
    leases(node_context& shared, const node_list& nodes, contention& waiters, renewals& kept)
        : shared_(shared),
          nodes_(nodes),
          contention_(waiters),
          renewals_(kept)
    {}

    /// A lease with one reference. May throw `std::bad_alloc`.
    [[nodiscard]] lease& create(std::string_view resource);
    /// Takes back a lease without references.
    void take_back(lease& l) noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return records_.in_use(); }

    /// The lease of all these resources that the owner holds; null: there is none.
    [[nodiscard]] lease* find(const owner_identity& owner,
                              std::span<const std::string> resources) const
    {
        return owner ? reentrant_holds_.find(owner, resources, shared_.now) : nullptr;
    }
    /// Whether the owner holds one of these resources.
    [[nodiscard]] bool has_one_of(const owner_identity& owner,
                                  std::span<const std::string> resources) const
    {
        return owner && reentrant_holds_.has_one_of(owner, resources, shared_.now);
    }
    /// Notes that the owner holds the lease. May throw `std::bad_alloc`.
    void set_owner(const owner_identity& owner, lease& l) { reentrant_holds_.add(owner, l); }

    /// Makes `hold` a further hold of `root`.
    void add_hold(lease& hold, lease& root) noexcept;
    /// Ends a hold. False: other holds of the lease go on.
    bool end_hold(lease& l) noexcept;
    /// Makes the record no hold of another lease any more.
    void leave_root(lease& hold) noexcept;

    /// Ends the hold. With the last one, releases the keys for no caller.
    void release(lease& held) noexcept;
    /// Ends the last hold and the validity. The caller sends the releases, drops the label and ends
    /// the turn.
    void begin_release(lease& held) noexcept;
    /// The lease is lost: the keys are, or may be, another owner's. Returns `lost`, or `not_held`
    /// if the lease was detached before.
    error_code lose(lease& l) noexcept;
    /// Ends the hold and forgets the lease. The keys stay.
    void detach(lease& held) noexcept;

    // The label by which others know the holder. No lock depends on it: a label that cannot be
    // stored or sent is left out.
    /// Gives the lease a label, and stores it on the nodes.
    void set_label(lease& l, const std::string& label) noexcept;
    /// Stores the label of the lease on the nodes.
    void send_label(const lease& l) noexcept;
    /// Deletes the label of the lease on the nodes.
    void drop_label(const lease& l) noexcept;

private:
    void end_validity(lease& l) noexcept;

    node_context& shared_;
    const node_list& nodes_;
    contention& contention_;
    renewals& renewals_;
    pool<lease> records_;
    reentrant_holds reentrant_holds_;
};

}  // namespace redlock::core
