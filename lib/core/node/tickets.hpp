#pragma once

#include "core/lease.hpp"
#include "core/node/requests.hpp"
#include "core/node/state.hpp"
#include "core/ring.hpp"
#include "core/ticket.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::resp {
class reply;
}  // namespace redlock::resp

namespace redlock::core {

/**
 * The tickets of this client in the queues of one node. A queue decides who asks for a lock, and
 * never who holds it, so each failure here costs time only. The functions that send may throw
 * `std::bad_alloc`; nothing was sent then.
 */
class tickets {
public:
    tickets(node_state& node, requests& r) noexcept : node_(node), requests_(r) {}

    void on_ready() noexcept { knows_queue_ = is_refused_ = false; }
    /// Whether the node can be asked for a place.
    [[nodiscard]] bool can_serve() const noexcept
    {
        return node_.shared.settings.fair_queue && node_.is_ready() && !is_refused_ &&
               requests_.has_room();
    }

    /// Takes a ticket, or asks for its place.
    void ask_place(lease& l, const place_request& asked);
    /// Gives the ticket back, and asks how many are left. `name`: empty to ask only. `member`: the
    /// number of the resource among several, for the answer.
    void leave(lease& l, std::string_view resource, std::string_view name, unsigned member);
    /// Gives the ticket back as soon as the node is ready again. Does nothing if the node is ready.
    void leave_later(std::string_view resource, const ticket& own) noexcept;
    /// Gives back the tickets of earlier connections.
    void send_late();

    /// The node has run the script that `ask_place` sends.
    void note_run() noexcept { knows_queue_ = true; }
    /// The meaning of an error.
    [[nodiscard]] place_answer take_error(const pending& p, const resp::reply& r) noexcept;
    /// Whether the log must say that the node serves no queue. It is true once.
    [[nodiscard]] bool take_refusal() noexcept
    {
        return is_refused_ && !std::exchange(is_refusal_logged_, true);
    }

private:
    struct late_ticket {
        std::string resource;
        ticket own;
    };

    node_state& node_;
    requests& requests_;
    /// The node has run the script on this connection.
    bool knows_queue_ = false;
    bool is_refused_ = false;
    bool is_refusal_logged_ = false;
    /// Tickets that could not be given back, the oldest first.
    ring<late_ticket> late_;
};

}  // namespace redlock::core
