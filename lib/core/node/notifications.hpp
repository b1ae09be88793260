#pragma once

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/node/command.hpp"
#include "core/node/handshake.hpp"
#include "core/node/requests.hpp"
#include "core/node/state.hpp"
#include "core/ticket.hpp"
#include "resp/reader.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace redlock::core {

/**
 * The notifications of one node about keys that waiters want. A notification is a hint: if none
 * comes, a waiter polls.
 *
 * https://redis.io/docs/latest/develop/reference/client-side-caching/
 */
class notifications {
public:
    notifications(node_state& node, requests& r, const handshake& greeting) noexcept
        : node_(node),
          requests_(r),
          greeting_(greeting)
    {}

    void on_ready() noexcept;
    /// An attempt to connect has succeeded.
    void on_connected() noexcept { has_lost_watch_ = false; }

    /// Whether the node can be asked for notifications.
    [[nodiscard]] bool can_track() const noexcept;
    /// Whether the client has asked for notifications on this connection, and the node has not
    /// refused.
    [[nodiscard]] bool is_tracking() const noexcept { return tracking_ == tracks::on; }
    /// Whether the node has missed a notification since it last sent one.
    [[nodiscard]] bool is_silent() const noexcept { return is_silent_; }

    /// Asks for a notification when the key of `resource` goes, or the key of that ticket in its
    /// queue. May throw `std::bad_alloc`; nothing was sent then.
    void watch(lease& l, std::string_view resource, const std::optional<ticket>& waiter);
    /// Ends the notifications if no waiter needs one, because the server remembers each key that
    /// was read.
    void end_if_idle();
    /// The instant at which `end_if_idle` must check next; `max`: never.
    [[nodiscard]] base::instant next() const noexcept { return look_at_; }

    /// A poll has found a change since this instant that the node has not reported. False: the node
    /// has sent a notification since then, which may have been the one.
    [[nodiscard]] bool note_silence(base::instant since) noexcept;
    void on_push(const resp::reply& r) noexcept;
    // The replies to the commands that begin and end the notifications.
    void on_accepted(command what) noexcept;
    /// True: the caller must log the refusal, because waiters poll from now on.
    [[nodiscard]] bool on_refused(command what, bool is_final) noexcept;
    /// The node has answered the command that reads the key.
    void on_watched() noexcept { lost_watches_ = 0; }
    /// The connection was lost before the node answered a row that reads a key.
    void on_watch_lost() noexcept;

private:
    node_state& node_;
    requests& requests_;
    const handshake& greeting_;
    /// Whether the server sends notifications on this connection.
    enum class tracks : std::uint8_t { off, on, refused };
    tracks tracking_ = tracks::off;
    /// The last CLIENT TRACKING of this connection succeeded.
    bool accepts_tracking_ = false;
    bool is_refusal_logged_ = false;
    /// The last connection was lost before the node answered a row that reads a key.
    bool has_lost_watch_ = false;
    bool is_silent_ = false;
    bool is_silence_logged_ = false;
    base::instant last_push_ = base::instant::min();
    base::instant look_at_ = base::instant::max();
    /// The number of such connections in a row, and the instant from which on the node is asked
    /// again.
    unsigned lost_watches_ = 0;
    base::instant usable_from_{};
};

}  // namespace redlock::core
