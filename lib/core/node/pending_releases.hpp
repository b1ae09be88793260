#pragma once

#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "core/node/pending_release.hpp"
#include "core/node/requests.hpp"
#include "core/node/state.hpp"
#include "core/ring.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

/**
 * The releases that a node has not acknowledged, and repairs of fencing counters that may have no
 * ttl. The client keeps a release until the node is back, for as long as the key can live, and
 * repeats it while the key may still come.
 */
class pending_releases {
public:
    pending_releases(node_state& node, requests& r) noexcept : node_(node), requests_(r) {}

    [[nodiscard]] std::size_t size() const noexcept { return waiting_.size() + repairs_.size(); }
    /// Releases that were not sent yet.
    [[nodiscard]] std::size_t unsent() const noexcept { return waiting_.unsent(); }
    /// The next instant at which a release or a repair becomes due. Those that are due already wait
    /// for a reply.
    [[nodiscard]] base::instant next() noexcept;

    // The connection.
    void on_ready() noexcept;
    /// Sends the releases that are due. `all`: also the others, on a new connection.
    void send_due(bool all = false);
    /// Sends the repairs that are due, which come after the releases.
    void send_due_repairs();
    /// The node has answered something, so there is room again.
    void on_reply();
    /// For a node that stays away: keys that have expired need no release.
    void drop_expired() noexcept;
    /// For a client that ends.
    void drop_all() noexcept;

    // Releases.
    /// The instant from which the key cannot be on the node; `max` if that is not known.
    [[nodiscard]] base::instant end_of_key(const lease& l) const noexcept;
    /// Keeps a release that was not sent, or whose answer was lost with its connection. `answers`:
    /// the round that waits for the answer. False: the client does not keep it.
    [[nodiscard]] bool keep(lease& l, round* answers, bool sent_before) noexcept;
    /// Keeps the release of `p`, whose answer will not come or says nothing about the key.
    /// `sent_before`: the node may have executed it.
    void keep_instead_of(const pending& p, bool sent_before) noexcept;
    /// A release was answered: reports that to its round, and keeps the release again if the key
    /// may be there or still come.
    void settle(const pending& p, node_outcome outcome, std::string_view error);
    /// The node answered a release with this error.
    void note_error(std::string error) noexcept { error_ = std::move(error); }
    /// The error of a release, if the key in the way of `wanted` may be the key of that release.
    /// Then perhaps no other client has the lock.
    [[nodiscard]] std::string_view own_key_error(const lease& wanted) const noexcept;

    // Repairs.
    /// Keeps a repair of the counter's ttl: the answer to an increment was lost, or the script that
    /// gives the counter a ttl has failed.
    void keep_repair(lease& l) noexcept;
    /// The node has failed at a repair: from then on the client sends one a second, until one
    /// succeeds.
    void on_repair_failed(lease& l) noexcept;
    void on_repaired() noexcept { repairs_due_ = {}; }

private:
    [[nodiscard]] bool may_be_set_yet(const lease& l) const noexcept;
    [[nodiscard]] bool may_have_key(const lease& l) const noexcept;
    [[nodiscard]] base::instant end_of_key_from_now(const lease& l) const noexcept;
    [[nodiscard]] bool add(const pending_release& what) noexcept;
    void repeat(lease& l, const pending_release* last, bool failed) noexcept;
    void report_dropped(round* waits, base::instant end, bool sent_before) noexcept;
    void drop(pending_release& d) noexcept;
    void forget(pending_release& d) noexcept;

    node_state& node_;
    requests& requests_;
    pending_release_queue waiting_;
    /// Leases whose fencing counters may have no ttl, since the answer to an increment was lost.
    /// Counted.
    ring<lease*> repairs_;
    /// After a failed repair, the client tries one more from this instant on.
    base::instant repairs_due_{};
    /// The node answers releases with errors: from this instant on the client sends one a second,
    /// until one succeeds. Zero: it does not.
    base::instant one_by_one_from_{};
    /// The last error of a release on this connection.
    std::string error_;
};

}  // namespace redlock::core
