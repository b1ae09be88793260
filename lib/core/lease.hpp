#pragma once

#include "base/instant.hpp"
#include "base/owner_token.hpp"
#include "core/votes.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace redlock::core {

struct renewal;
struct line;
struct operation;

/// The names of several resources that are locked as one, without the key prefix.
using group = std::shared_ptr<const std::vector<std::string>>;

/**
 * One owner token and the keys that hold it: an attempt, which becomes a held lock or is given
 * back.
 *
 * Counted by everything that may still speak of the keys: the lock object, its operations, and
 * every command without an answer. Of a held lease `resource`, `group`, `within`, `token`,
 * `fencing_token`, `valid_until` and `granted` may be read on any thread.
 */
struct lease {
    /// Without the key prefix; of several the first.
    std::string resource;
    /// All of them, where there are several.
    core::group group;
    base::owner_token token;
    /// What the keys beside those of the lock hold to name the holder, behind a `label_tie`. Set
    /// once the lock is had; null: nothing.
    std::unique_ptr<const std::string> label;
    base::nanos ttl{};

    /// Before the first byte of the SET, or of the last extend that was renewed.
    base::instant t0{};

    /// When the last key may be gone at the latest, if every command sent so far was executed in
    /// time.
    base::instant keys_end{};

    /// Until when the keys were asked to live by what a majority confirmed.
    base::instant asked_until{};

    /// Nodes whose connection was given the SET; no other node can have the key.
    node_mask asked = 0;
    /// Of those, the nodes whose answer to the SET was read: nothing of it is under way any more.
    node_mask answered = 0;
    /// Nodes that granted the key, late ones too; atomic for the same reason as the validity.
    std::atomic<node_mask> granted{0};

    /// Of those, under the restart guard, the nodes that were shown to be admitted behind the
    /// grant: the only ones whose extends count without that.
    node_mask counted = 0;

    /// Greater than that of every lease whose token was known when this one was begun; zero: none.
    /// Set once, before the lease is anybody's.
    std::uint64_t fencing_token = 0;

    /// Another client set the keys: any node may hold one.
    bool adopted = false;
    /// A majority was seen to be without the key. Final.
    bool lost = false;
    /// Releases are queued or owed; nobody believes in the lease any more.
    bool given_back = false;

    /// This record's own hold has ended.
    bool is_hold_over = false;
    /// It was detached, which any thread may do: what is on the nodes is somebody else's.
    std::atomic<bool> left = false;
    /// The one of its client that has the resource, or asks for it: see `line`.
    bool leads = false;
    /// It was had: from the success of its acquire on.
    bool is_had = false;
    /// That it is over has counted among the turns of its client.
    bool is_counted = false;

    /// How often it is held, by this record and those within it.
    std::uint32_t holds = 1;
    std::uint32_t references = 0;
    /// A further hold of another lease: nothing of it is on the nodes. Counted.
    lease* within = nullptr;
    /// On whose behalf it is held, as `holdings` knows it; null: nobody's in particular.
    const char* held_by = nullptr;

    /// Who looks after it, if it is held and anybody does. Of records within another only that
    /// one's counts.
    core::renewal* renewal = nullptr;

    /// Of the resource, or the first of several, for tables.
    std::uint64_t resource_hash = 0;
    /// Whose attempts it serves, while it leads and is not had yet.
    operation* sought_by = nullptr;
    /// The next one in its chain of `leading`.
    lease* next_leading = nullptr;
    /// Who stands behind it; null: nobody does.
    core::line* line = nullptr;

    /// For whoever has to leave the lease and cannot say so at once: the one that was left before.
    lease* left_before = nullptr;

    /// The first nanosecond at which the lock is no longer believed in; atomic, since a lock may be
    /// asked on any thread.
    std::atomic<std::int64_t> valid_until_ns{0};

    /// What is on the nodes.
    [[nodiscard]] lease& root() noexcept { return within != nullptr ? *within : *this; }
    [[nodiscard]] const lease& root() const noexcept { return within != nullptr ? *within : *this; }

    [[nodiscard]] std::span<const std::string> resources() const noexcept
    {
        return group ? std::span(*group) : std::span(&resource, 1);
    }

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
