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
 * The life of the connection to one node: the attempts to connect, the handshake, the pings, the
 * end. Finds the command that a reply belongs to.
 *
 * Replies have no names and are matched by their order alone. After a reply that does not fit, the
 * client believes no further byte of the connection.
 */
class connection {
public:
    explicit connection(node_parts& parts) : n_(parts) {}

    void begin() noexcept;
    /// False: the attempt to connect was given up.
    [[nodiscard]] bool on_credentials(const base::login& given);
    void on_tls_handshake() noexcept { awaits_tls_ = true; }
    void note_other_addresses(bool has_some) noexcept { has_other_addresses_ = has_some; }
    void on_connected();
    void on_bytes(std::string_view bytes);
    /// The other end has closed it, or it could not be made.
    void on_closed(std::string_view reason) noexcept;
    void on_time();
    /// Ends it for this reason.
    void break_off(std::string_view reason, log_level level = log_level::warning) noexcept;
    /// Makes no further one.
    void stop() noexcept;

    /// Takes a reply to a step of the handshake. False: the connection was given up.
    bool on_handshake_reply(const resp::reply& r);
    /// Does what is due, and sets the node's next wake-up.
    void check_health();
    /// Asks whether the node is still a master, if that is not known well enough for a vote. The
    /// votes that follow count only if the node is one.
    void ask_role_if_due();

    /// The first attempt to connect has not ended.
    [[nodiscard]] bool is_unproven() const noexcept { return is_unproven_; }
    /// The last attempt ended because the server refused user, password or database.
    [[nodiscard]] bool is_refused_for_good() const noexcept { return is_refused_for_good_; }
    /// Whether the client has yet to learn if it can use the node: it has not tried, the server
    /// refused only for the moment, or closed the connection at the greeting with HELLO.
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
    /// The name has further addresses, if this connection does not get ready.
    bool has_other_addresses_ = false;
    bool was_useful_ = false;
    /// The log says that the node needs no login.
    bool is_unused_login_logged_ = false;
    base::instant ready_since_{};
    base::instant last_reply_{};
    /// From when on the role must be asked for again before the next vote.
    base::instant role_due_ = base::instant::max();
    /// How many connections in a row were closed before HELLO was answered, or in a greeting
    /// without HELLO.
    unsigned cut_greetings_ = 0;
    /// The run that the last usable connection led to.
    std::string known_run_;
};

}  // namespace redlock::core
