#pragma once

#include "base/instant.hpp"
#include "base/owner_token.hpp"
#include "core/votes.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace redlock::core {

/**
 * One owner token and the keys that hold it: an attempt, which becomes a held lock or is given
 * back.
 *
 * Counted by everything that may still speak of the keys: the lock object, its operations, and
 * every command without an answer. Of a held lease `resource`, `token`, `valid_until` and `granted`
 * may be read on any thread.
 */
struct lease {
    /// Without the key prefix.
    std::string resource;
    base::owner_token token;
    base::nanos ttl{};

    /// Before the first byte of the SET, or of the last extend that was renewed.
    base::instant t0{};

    /// When the last key may be gone at the latest, if every command sent so far was executed in
    /// time.
    base::instant keys_end{};

    /// Nodes whose connection was given the SET; no other node can have the key.
    node_mask asked = 0;
    /// Of those, the nodes whose answer to the SET was read: nothing of it is under way any more.
    node_mask answered = 0;
    /// Nodes that granted the key, late ones too; atomic for the same reason as the validity.
    std::atomic<node_mask> granted{0};

    /// Another client set the keys: any node may hold one.
    bool adopted = false;
    /// A majority was seen to be without the key. Final.
    bool lost = false;
    /// Releases are queued or owed; nobody believes in the lease any more.
    bool given_back = false;

    std::uint32_t references = 0;

    /// The first nanosecond at which the lock is no longer believed in; atomic, since a lock may be
    /// asked on any thread.
    std::atomic<std::int64_t> valid_until_ns{0};

    [[nodiscard]] base::instant valid_until() const noexcept
    {
        return base::instant{base::nanos{valid_until_ns.load(std::memory_order_relaxed)}};
    }

    void set_valid_until(base::instant end) noexcept
    {
        valid_until_ns.store(end.time_since_epoch().count(), std::memory_order_relaxed);
    }
};

}  // namespace redlock::core
