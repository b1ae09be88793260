#pragma once

#include "base/settings.hpp"
#include "core/node/node_login.hpp"
#include "core/node/role.hpp"
#include "resp/reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::core {

/// The way to delete a key if it has a given value.
enum class compare_and_delete : std::uint8_t {
    script,   ///< The classic script, on every server.
    delifeq,  ///< DELIFEQ, in Valkey from 9 on.
    delex,    ///< DELEX with IFEQ, in Redis from 8.4 on.
};

/**
 * The commands on a new connection, before the node may vote. They log in, in RESP3 if the server
 * can, and select the database. They load the scripts, and find out which native compare-and-delete
 * the server has. They release a key that no client has, to prove that the node can release what it
 * grants. They read the run id, and check that the server is an independent master. For the restart
 * guard, they also check the eviction policy and read the marker.
 *
 * An error of the server may repeat the password. So a message has only the code of an error. Only
 * the error of a trial release is shown, without the password.
 *
 * Each step is one command. The replies come in the same order.
 */
class handshake {
public:
    enum class progress : std::uint8_t { going_on, ready, failed };

    handshake(const base::settings& s, const base::address& node) noexcept
        : settings_(&s),
          node_(&node),
          login_(node)
    {}

    [[nodiscard]] node_login& login() noexcept { return login_; }
    [[nodiscard]] const node_login& login() const noexcept { return login_; }

    /// Begins again, on a new connection: appends the first commands. Returns the number of replies
    /// to expect. `says_hello`: false if the server closed earlier connections at HELLO.
    unsigned start(std::string& out, bool says_hello = true);

    /// Takes the next reply, and may append further commands to `out`. Adds the number of their
    /// replies to `more`.
    progress on_reply(const resp::reply& r, std::string& out, unsigned& more);

    /// Whether the server has answered a command of the handshake. An answer to HELLO that is no
    /// greeting does not count.
    [[nodiscard]] bool has_got_an_answer() const noexcept
    {
        return next_ > (hello_refused_ ? 1U : 0U);
    }

    /// The names of the commands without an answer, for a message.
    [[nodiscard]] std::string unanswered() const;

    /// Why the handshake failed, in the client's own words.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    /// Whether the next try must fail too unless an operator changes a configuration.
    [[nodiscard]] bool needs_attention() const noexcept { return needs_attention_; }
    /// Whether the server refused user or password, and the handshake has not succeeded.
    [[nodiscard]] bool is_refused_login() const noexcept { return is_refused_login_; }
    /// Whether the server refused AUTH and needs no login: the handshake has succeeded without one.
    [[nodiscard]] bool is_login_unused() const noexcept { return is_login_unused_; }
    /// Whether the server refused user, password or database. The next handshake fails too unless
    /// the configuration of server or client changes.
    [[nodiscard]] bool is_refused_for_good() const noexcept
    {
        return is_refused_login_ || is_refused_database_;
    }

    /// Whether the server refused for a reason that passes by itself, such as LOADING.
    [[nodiscard]] bool is_refused_for_now() const noexcept
    {
        return !reason_.empty() && !needs_attention_;
    }

    [[nodiscard]] compare_and_delete deletes_by() const noexcept { return deletes_by_; }
    /// Whether the node permits scripts by their text, but not by their digest.
    [[nodiscard]] bool wants_text() const noexcept { return wants_text_; }
    /// The version of RESP: 2 or 3.
    [[nodiscard]] int protocol() const noexcept { return protocol_; }
    [[nodiscard]] bool is_replica() const noexcept { return is_replica_; }
    /// The command that the server answers with its role.
    [[nodiscard]] role_source role_reported_by() const noexcept { return role_reported_by_; }
    /// The run id of the server; empty: it gives none, which fails the handshake of a guarded node.
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    /// The marker of a guarded node; empty: it has none.
    [[nodiscard]] const std::optional<std::string>& marker() const noexcept { return marker_; }

private:
    enum class step : std::uint8_t {
        hello,
        auth,
        client_name,
        select,
        load_script,
        capabilities,
        probe,
        probe_with_text,  ///< the digest was not known
        probe_text_only,  ///< the digest was not permitted
        probe_native,
        server_info,
        replication_info,
        memory_info,
        marker,
        role,  ///< neither HELLO nor INFO gave one
    };

    void make_room(std::string& out) const;
    unsigned greet_without_hello(std::string& out);
    [[nodiscard]] bool is_guarded() const noexcept { return settings_->guard && !node_->durable; }
    void expect(step s) noexcept;
    [[nodiscard]] std::string_view name_of(step s) const noexcept;
    unsigned ask_the_rest(std::string& out);
    progress fail(std::string reason, bool needs_attention);
    progress refused(std::string_view what, const resp::reply& r);
    progress refused_login(std::string_view what, const resp::reply& r);
    progress on_auth(const resp::reply& r);

    progress on_hello(const resp::reply& r, std::string& out, unsigned& more);
    progress on_step(step s, const resp::reply& r, std::string& out, unsigned& more);
    progress on_probe(step s, const resp::reply& r, std::string& out, unsigned& more);
    progress on_server_info(const resp::reply& r);
    progress on_role(role_source by, const resp::reply& r, std::string& out, unsigned& more);
    progress on_memory_info(const resp::reply& r);
    progress on_marker(const resp::reply& r);
    void append_probe(std::string& out, bool by_digest) const;
    void append_native_probe(std::string& out) const;
    void note_capabilities(const resp::reply& r);

    const base::settings* settings_;
    const base::address* node_;
    node_login login_;
    std::string reason_;
    /// The error of the first trial release that the node refused.
    std::string probe_error_;
    std::string run_id_;
    std::optional<std::string> marker_;
    step expected_[24]{};
    unsigned next_ = 0;
    unsigned last_ = 0;
    compare_and_delete deletes_by_ = compare_and_delete::script;
    int protocol_ = 2;
    role_source role_reported_by_ = role_source::none;
    bool is_replica_ = false;
    bool wants_text_ = false;
    bool needs_attention_ = false;
    bool is_refused_login_ = false;
    bool is_login_unused_ = false;
    bool is_refused_database_ = false;
    bool hello_refused_ = false;
};

}  // namespace redlock::core
