#pragma once

#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/node/command.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/parts.hpp"
#include "core/node/words.hpp"
#include "core/round.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::core {

/// One node: sends it the commands of rounds, and knows its state.
class node {
public:
    node(node_context& shared, node_events events, unsigned index, const base::address& at);
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    /// The connection, for the events of the engine.
    [[nodiscard]] core::connection& connection() noexcept { return parts_.connection; }
    /// Ends the connection, makes no further one, and drops pending releases and repairs.
    void stop() noexcept;

    // Whether to ask the node.
    [[nodiscard]] bool takes_requests() const noexcept
    {
        return is_ready() && !parts_.requests.is_stalled() && parts_.requests.has_room();
    }
    /// Why a ready node takes no requests.
    [[nodiscard]] std::string_view why_stalled() const noexcept
    {
        return parts_.requests.is_stalled() ? "has left earlier requests unanswered"
                                            : "has no room for requests (max_buffered_bytes)";
    }
    /// A round has ended without the node's answer. The node gets no new requests until none of its
    /// unanswered commands is older than `node_timeout`.
    void mark_stalled() noexcept { parts_.requests.mark_stalled(); }
    [[nodiscard]] bool may_come() const noexcept { return parts_.state.may_come(); }
    [[nodiscard]] bool is_ready() const noexcept { return parts_.state.is_ready(); }
    // As in `connection`.
    [[nodiscard]] bool is_unproven() const noexcept { return parts_.connection.is_unproven(); }
    [[nodiscard]] bool is_untried() const noexcept { return parts_.connection.is_untried(); }
    [[nodiscard]] bool is_refused_for_good() const noexcept
    {
        return parts_.connection.is_refused_for_good();
    }
    /// Why the node is not ready; empty while it is.
    [[nodiscard]] const std::string& trouble() const noexcept
    {
        return parts_.state.trouble.text();
    }
    /// Whether the node may have forgotten locks, so that its grants do not count.
    [[nodiscard]] bool is_quarantined() const noexcept
    {
        return is_ready() && parts_.admission.is_quarantined();
    }
    [[nodiscard]] base::nanos quarantine_left(base::instant now) const noexcept
    {
        return parts_.admission.remaining(now);
    }
    [[nodiscard]] const std::string& quarantine_reason() const noexcept
    {
        return parts_.guard.reason();
    }
    /// Whether a fencing counter with this value is new, or may be from before the node was
    /// admitted.
    [[nodiscard]] bool is_new_counter(std::int64_t value) const noexcept
    {
        return value < least_counter(parts_.requests.words());
    }
    /// The error of a release, if the key in the way of `wanted` may be the key of that release.
    [[nodiscard]] std::string_view own_key_error(const lease& wanted) const noexcept
    {
        return parts_.releases.own_key_error(wanted);
    }

    // Asking.
    /// Sends the commands of the round, which is no release. `same`: the words that were encoded
    /// for an earlier node, to be copied if they fit.
    void ask(round& r, encoded_row& same);
    /// Releases the lease for a caller that waits: now, or when the node is back. Returns the
    /// outcome if it is known without asking.
    std::optional<node_outcome> send_release(round& r, encoded_row& same);
    /// Releases the lease for no caller: now, or when the node is back.
    void send_background_release(lease& l, encoded_row& same) noexcept;
    /// Before a vote: asks whether the node is still a master, if that is not known well enough.
    void ask_role_if_due() { parts_.connection.ask_role_if_due(); }
    void store_label(const lease& l) { parts_.requests.store_label(l); }
    void drop_label(const lease& l) { parts_.requests.drop_label(l); }

    [[nodiscard]] core::tickets& tickets() noexcept { return parts_.tickets; }
    [[nodiscard]] const core::tickets& tickets() const noexcept { return parts_.tickets; }
    [[nodiscard]] core::notifications& notifications() noexcept { return parts_.notifications; }
    [[nodiscard]] const core::notifications& notifications() const noexcept
    {
        return parts_.notifications;
    }

    /// The hash of the node's name, for `rank`.
    [[nodiscard]] std::uint64_t name() const noexcept { return name_; }
    [[nodiscard]] base::instant wake_up() const noexcept { return parts_.state.wake_up; }
    [[nodiscard]] output& out() noexcept { return parts_.requests.out(); }
    [[nodiscard]] const output& out() const noexcept { return parts_.requests.out(); }
    [[nodiscard]] const std::string& display() const noexcept
    {
        return parts_.state.address.display;
    }
    [[nodiscard]] std::size_t unanswered() const noexcept { return parts_.requests.size(); }
    [[nodiscard]] std::size_t pending_releases() const noexcept { return parts_.releases.size(); }
    /// The number of releases without an answer, and of releases that were not sent yet.
    [[nodiscard]] std::size_t releases_going_out() const noexcept
    {
        return parts_.requests.unanswered_releases() + parts_.releases.unsent();
    }

private:
    [[nodiscard]] command_row row_for(const round& r) const;
    [[nodiscard]] command command_to_count(const round& r) const noexcept;

    node_parts parts_;
    const std::uint64_t name_;
};

using node_list = std::vector<std::unique_ptr<node>>;

}  // namespace redlock::core
