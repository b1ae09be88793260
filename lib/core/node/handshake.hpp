#pragma once

#include "base/login.hpp"
#include "base/settings.hpp"
#include "core/node/role.hpp"
#include "resp/reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::core {

/// How a node deletes a key that holds a given value.
enum class compare_and_delete : std::uint8_t {
    script,   ///< the classic script, on every server
    delifeq,  ///< DELIFEQ, Valkey from 9 on
    delex,    ///< DELEX key IFEQ, Redis from 8.4 on
};

/**
 * What is said on a new connection before it may vote: who we are, in RESP3 where the server can;
 * the database; the scripts; which native compare-and-delete there is; a release of a key nobody
 * has, to prove that what is taken here can be given back; which run of which server this is, and
 * that it is an independent master; and for the restart guard whether it may evict, and what its
 * marker says. The server's text is never
 * passed on: it may hold the password.
 *
 * Each step is one command; the replies come back in the same order.
 */
class handshake {
public:
    enum class progress : std::uint8_t { going_on, ready, failed };

    handshake(const base::settings& s, const base::address& node) noexcept
        : settings_(&s),
          node_(&node)
    {}

    /// Logs in with `given` and no longer with what the node's URL has.
    void log_in_with(const base::login& given) { given_ = given; }
    /// Overwrites what was given.
    void forget_login() noexcept { given_.reset(); }
    /// The password in use.
    [[nodiscard]] std::string_view password() const noexcept
    {
        return (given_ ? given_->password : node_->password).view();
    }

    /// Begins anew on a new connection; appends the first commands. Returns how many replies to
    /// expect. `says_hello`: not to what was seen to close the connection at that word.
    unsigned start(std::string& out, bool says_hello = true);

    /// Takes the next reply. `more` is how many further replies to expect for what was appended to
    /// `out`.
    progress on_reply(const resp::reply& r, std::string& out, unsigned& more);

    /// The server has answered a command of the handshake; an answer to HELLO that is no greeting
    /// does not count.
    [[nodiscard]] bool has_got_an_answer() const noexcept
    {
        return next_ > (hello_refused_ ? 1U : 0U);
    }

    /// Names of the commands that have no answer, for a message.
    [[nodiscard]] std::string unanswered() const;

    /// Why it failed, in our own words.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    /// Somebody has to change a configuration before another try can do better.
    [[nodiscard]] bool needs_attention() const noexcept { return needs_attention_; }
    /// The server refused user or password, and the handshake has not succeeded.
    [[nodiscard]] bool is_refused_login() const noexcept { return is_refused_login_; }
    /// The server refused AUTH and needs no login: the handshake has succeeded without one.
    [[nodiscard]] bool is_login_unused() const noexcept { return is_login_unused_; }
    /// The server refused user, password or database. The next handshake ends like this one unless
    /// the configuration of server or client changes.
    [[nodiscard]] bool is_refused_for_good() const noexcept
    {
        return is_refused_login_ || is_refused_database_;
    }

    /// The server refused for a reason that passes by itself, such as LOADING.
    [[nodiscard]] bool is_refused_for_now() const noexcept
    {
        return !reason_.empty() && !needs_attention_;
    }

    [[nodiscard]] compare_and_delete deletes_by() const noexcept { return deletes_by_; }
    /// No script may be called by its digest here, by its text it may.
    [[nodiscard]] bool wants_text() const noexcept { return wants_text_; }
    /// 2 or 3.
    [[nodiscard]] int protocol() const noexcept { return protocol_; }
    [[nodiscard]] bool is_replica() const noexcept { return is_replica_; }
    /// How the server tells its role and mode.
    [[nodiscard]] role_source tells_role_by() const noexcept { return tells_role_by_; }
    /// The server's run; empty where it does not tell, which no guarded node may.
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    /// Of a guarded node: the marker, if there is one.
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
        role,  ///< neither HELLO nor INFO has told one
    };

    [[nodiscard]] const std::string& user() const noexcept
    {
        return is_given_user() ? given_->user : node_->user;
    }
    /// A password without a user is for the user of the URL. Without both there is no login.
    [[nodiscard]] bool is_given_user() const noexcept
    {
        return given_ && (!given_->user.empty() || given_->password.view().empty());
    }
    [[nodiscard]] bool logs_in() const noexcept { return !user().empty() || !password().empty(); }
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
    std::optional<base::login> given_;
    std::string reason_;
    /// The answer to a trial release that was refused.
    std::string probe_error_;
    std::string run_id_;
    std::optional<std::string> marker_;
    step expected_[24]{};
    unsigned next_ = 0;
    unsigned last_ = 0;
    compare_and_delete deletes_by_ = compare_and_delete::script;
    int protocol_ = 2;
    role_source tells_role_by_ = role_source::none;
    bool is_replica_ = false;
    bool wants_text_ = false;
    bool needs_attention_ = false;
    bool is_refused_login_ = false;
    bool is_login_unused_ = false;
    bool is_refused_database_ = false;
    bool hello_refused_ = false;
};

}  // namespace redlock::core
