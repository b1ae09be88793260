#pragma once

#include <redlock/log.hpp>

#include "base/instant.hpp"
#include "base/login.hpp"
#include "core/node/reconnection.hpp"
#include "resp/reader.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

struct node_parts;

/**
 * The connection to one node: the attempts to connect, the handshake, the checks of its health, and
 * the end. Finds the command that a reply belongs to.
 *
 * Replies carry no identifier and are matched by their order alone. So after a reply that does not
 * fit, the client reads nothing more from the connection.
 */
class connection {
public:
    explicit connection(node_parts& parts) : n_(parts) {}

    /// Asks the engine to connect within `connect_timeout`.
    void begin() noexcept;
    /// Takes the login from `config::credentials`, and begins `connect_timeout` again. False: no
    /// attempt to connect waits for a login any more.
    [[nodiscard]] bool on_credentials(const base::login& given);
    /// TCP is connected, and the TLS handshake begins.
    void on_tls_handshake() noexcept { awaits_tls_ = true; }
    /// `has_some`: the node's name has addresses that were not tried yet.
    void note_other_addresses(bool has_some) noexcept { has_other_addresses_ = has_some; }
    /// The connection is made: begins the handshake.
    void on_connected();
    /// Takes bytes from the node, and acts on each complete reply and notification.
    void on_bytes(std::string_view bytes);
    /// The other end has closed the connection, or it could not be made.
    void on_closed(std::string_view reason) noexcept;
    /// The instant `node_state::wake_up` has come.
    void on_time();
    /// Sends what waits for the end of a turn. `same`: as in `requests`.
    void on_turn_end(encoded_batches& same);
    /// Ends the connection for this reason, and plans the next attempt.
    void break_off(std::string_view reason, log_level level = log_level::warning) noexcept;
    /// Ends the connection, and makes no further one.
    void stop() noexcept;

    /// Takes a reply to a step of the handshake. False: the connection was given up.
    bool on_handshake_reply(const resp::reply& r);
    /// Does what is due on a ready connection, and sets `node_state::wake_up`.
    void check_health();
    /// Asks whether the node is still a master, if the last answer is too old for a vote. If the
    /// node is none, the connection ends, and the votes that follow fail.
    void ask_role_if_due();

    /// Whether the first attempt to connect has not ended yet.
    [[nodiscard]] bool is_unproven() const noexcept { return is_unproven_; }
    /// Whether the last attempt ended because the server refused user, password or database.
    [[nodiscard]] bool is_refused_for_good() const noexcept { return is_refused_for_good_; }
    /// Whether the client does not know yet if it can use the node. It has not tried, or the server
    /// refused only for now, or closed the connection at a greeting with HELLO.
    [[nodiscard]] bool is_untried() const noexcept;
    /// Whether a connection that was ready and fit has ended since the last call.
    [[nodiscard]] bool take_was_useful() noexcept { return std::exchange(was_useful_, false); }

private:
    enum class ended_by { peer, us };

    bool on_reply(const resp::reply& r);
    void ask_role();
    void become_ready();
    void note_run();
    void forget(std::string_view reason, log_level level, ended_by whom) noexcept;
    void give_up_as(std::string_view unfit) noexcept;
    void schedule(const connection_end& end) noexcept;
    void send_ping();
    [[nodiscard]] const std::string* name_of_twin() const noexcept;
    [[nodiscard]] bool is_cut_at_hello() const noexcept;
    [[nodiscard]] std::string hint_of_cut(std::string_view reason) const;
    [[nodiscard]] std::string_view hint_of_nonsense() const noexcept;

    node_parts& n_;
    resp::reader reader_;
    reconnection reconnection_;
    bool is_unproven_ = true;
    bool is_refused_for_good_ = false;
    bool is_refused_for_now_ = false;
    /// The attempt to connect waits for `on_credentials`.
    bool awaits_credentials_ = false;
    bool awaits_tls_ = false;
    /// The node's name has addresses that were not tried yet.
    bool has_other_addresses_ = false;
    bool was_useful_ = false;
    /// The client has logged that the node needs no login.
    bool is_unused_login_logged_ = false;
    base::instant ready_since_{};
    base::instant last_reply_{};
    /// From this instant on, the client asks for the role before a vote.
    base::instant role_due_ = base::instant::max();
    /// The number of connections in a row that were closed before the answer to HELLO, or in a
    /// greeting without HELLO.
    unsigned cut_greetings_ = 0;
    /// The run id of the server that the last ready connection led to.
    std::string known_run_;
};

}  // namespace redlock::core
