#include "core/node/handshake.hpp"

#include "base/text.hpp"
#include "core/node/info.hpp"
#include "resp/encoder.hpp"
#include "resp/error_text.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace redlock::core {

namespace {

/// The resource of the trial release. No client has its key. The key has the prefix, so an ACL for
/// the prefix covers it.
constexpr std::string_view probe_resource = "redlock:probe";
constexpr std::string_view no_owner = "0000000000000000000000000000000000000000";

constexpr std::string_view no_login = "the server wants a login";
constexpr std::string_view refused_user = "the server refused user and password";
constexpr std::string_view no_info = "the answer to INFO is not valid";
constexpr std::string_view no_release =
    "no permitted command releases a lock: EVAL or EVALSHA, with GET and DEL";

constexpr std::array loaded_scripts{&resp::release_script, &resp::extend_script,
                                    &resp::inspect_script, &resp::count_script,
                                    &resp::align_script};

/// Whether the server refuses this client itself, so that another greeting would be refused too.
bool is_final(std::string_view error, bool gave_password) noexcept
{
    // A server may answer NOAUTH to a command that it does not know. So after a password, NOAUTH
    // does not mean that the password is missing.
    return resp::has_code(error, "WRONGPASS") || resp::has_code(error, "DENIED") ||
           (resp::has_code(error, "NOAUTH") && !gave_password) || resp::is_temporary(error);
}

/// Before Redis 6.2, only a sentence without a code says that a password is wrong.
bool says_wrong_login(std::string_view error) noexcept
{
    return resp::has_code(error, "WRONGPASS") || resp::has_code(error, "NOAUTH") ||
           error.find("invalid password") != error.npos;
}

std::string_view why_refused(std::string_view error) noexcept
{
    if (resp::has_code(error, "DENIED")) {
        return "the server has no password, and accepts only clients on its own machine";
    }
    if (resp::has_code(error, "NOAUTH")) {
        return no_login;
    }
    return says_wrong_login(error) ? refused_user : "the server refused the greeting";
}

/// Whether the database does not exist. Only a sentence without a code says so; before Redis 4 it
/// is the second one. A proxy that refuses SELECT in other words may permit it later.
bool says_no_database(std::string_view error) noexcept
{
    return error.find("DB index is out of range") != error.npos ||
           error.find("invalid DB index") != error.npos;
}

/// The code of an error, for a message. After "ERR" only a known code counts, because the next word
/// may repeat what the client sent.
std::string_view code_of(std::string_view error) noexcept
{
    constexpr std::array<std::string_view, 7> known{"WRONGPASS", "NOAUTH", "DENIED",    "READONLY",
                                                    "MOVED",     "ASK",    "NOREPLICAS"};
    const auto* const found = std::ranges::find_if(
        known, [&](std::string_view code) { return resp::has_code(error, code); });
    if (found != known.end()) {
        return *found;
    }
    const std::string_view word = resp::error_code_word(error);
    return word == "ERR" ? std::string_view() : word;
}

/// Whether the server has too many clients. The error has no code of its own, and at the greeting
/// the sentence has only this meaning.
bool has_no_room(std::string_view error) noexcept
{
    return error.find("max number of clients") != std::string_view::npos;
}

/// The mode of the server. Valkey from 8 on has another name for the field than Redis.
std::string_view mode_of(std::string_view info) noexcept
{
    const std::string_view mode = info_field(info, "redis_mode");
    return mode.empty() ? info_field(info, "server_mode") : mode;
}

}  // namespace

unsigned handshake::start(std::string& out, bool says_hello)
{
    reason_.clear();
    run_id_.clear();
    marker_.reset();
    next_ = last_ = 0;
    deletes_by_ = compare_and_delete::script;
    protocol_ = 2;
    role_reported_by_ = role_source::none;
    is_replica_ = wants_text_ = needs_attention_ = hello_refused_ = false;
    is_refused_login_ = is_login_unused_ = is_refused_database_ = false;
    make_room(out);
    if (!says_hello) {
        return greet_without_hello(out) + ask_the_rest(out);
    }
    resp::append_hello(out, login_.user(), login_.password(), settings_->client_name);
    expect(step::hello);
    return 1;
}

unsigned handshake::greet_without_hello(std::string& out)
{
    const unsigned before = last_;
    if (!login_.empty()) {
        make_room(out);
        // Servers without ACLs accept only a password.
        if (login_.user().empty()) {
            resp::append(out, "AUTH", login_.password());
        } else {
            resp::append(out, "AUTH", login_.user(), login_.password());
        }
        expect(step::auth);
    }
    if (!settings_->client_name.empty()) {
        resp::append(out, "CLIENT", "SETNAME", settings_->client_name);
        expect(step::client_name);
    }
    return last_ - before;
}

/// A buffer that grows leaves its old bytes in memory, and a password may be among them. So the
/// buffer gets room for the whole handshake first.
void handshake::make_room(std::string& out) const
{
    constexpr std::size_t fixed_words = 4096;
    const std::size_t ours = login_.user().size() + login_.password().size() +
                             settings_->client_name.size() + settings_->key_prefix.size();
    out.reserve(fixed_words + 3 * ours);
}

void handshake::expect(step s) noexcept
{
    assert(last_ < std::size(expected_));
    expected_[last_++] = s;
}

handshake::progress handshake::on_reply(const resp::reply& r, std::string& out, unsigned& more)
{
    assert(next_ < last_);
    const step s = expected_[next_++];
    const progress p = s == step::hello ? on_hello(r, out, more) : on_step(s, r, out, more);
    if (p != progress::going_on || next_ < last_) {
        return p;
    }
    is_login_unused_ = std::exchange(is_refused_login_, false);
    probe_error_.clear();
    return progress::ready;
}

std::string_view handshake::name_of(step s) const noexcept
{
    switch (s) {
        case step::hello: return "HELLO";
        case step::auth: return "AUTH";
        case step::client_name: return "CLIENT SETNAME";
        case step::select: return "SELECT";
        case step::load_script: return "SCRIPT LOAD";
        case step::capabilities: return "COMMAND INFO";
        case step::probe: return "EVALSHA";
        case step::probe_with_text:
        case step::probe_text_only: return "EVAL";
        case step::probe_native:
            return deletes_by_ == compare_and_delete::delifeq ? "DELIFEQ" : "DELEX";
        case step::server_info:
        case step::replication_info:
        case step::memory_info: return "INFO";
        case step::marker: return "GET";
        case step::role: return "ROLE";
    }
    return {};
}

std::string handshake::unanswered() const
{
    std::string out;
    std::string_view last;
    for (unsigned i = next_; i < last_; ++i) {
        const std::string_view name = name_of(expected_[i]);
        if (name != last) {
            out.append(out.empty() ? "" : ", ").append(name);
        }
        last = name;
    }
    return out;
}

/// If the handshake fails for another reason than a refusal, the server has accepted the login or
/// needs none.
handshake::progress handshake::fail(std::string reason, bool needs_attention)
{
    is_refused_login_ = false;
    reason_ = std::move(reason);
    needs_attention_ = needs_attention;
    return progress::failed;
}

/// The code of an error says enough, and the rest may repeat what the client sent, such as a
/// password. A refusal that passes by itself has one reason, whatever it refused.
handshake::progress handshake::refused(std::string_view what, const resp::reply& r)
{
    const std::string_view text = r.text();
    if (const auto temporary = resp::temporary_because(text); !temporary.empty()) {
        return fail(std::string(temporary), false);
    }
    std::string reason{what};
    if (const std::string_view code = code_of(text); !code.empty()) {
        reason.append(" (").append(code).append(")");
    }
    const bool wants_other_login = is_refused_login_;
    if (wants_other_login) {
        reason.append(", after it refused user and password");
    }
    const progress p = fail(std::move(reason), true);
    is_refused_login_ = wants_other_login;
    return p;
}

handshake::progress handshake::refused_login(std::string_view what, const resp::reply& r)
{
    if (has_no_room(r.text())) {
        return fail("the server has too many clients", false);
    }
    const progress p = refused(what, r);
    is_refused_login_ = says_wrong_login(r.text());
    return p;
}

handshake::progress handshake::on_hello(const resp::reply& r, std::string& out, unsigned& more)
{
    if (r.is_error()) {
        if (has_no_room(r.text()) || is_final(r.text(), !login_.empty())) {
            return refused_login(why_refused(r.text()), r);
        }
        hello_refused_ = true;
        more += greet_without_hello(out);
    } else if (auto told = read_role(r, role_source::hello)) {
        protocol_ = r.find("proto").integer() == 3 ? 3 : 2;
        role_reported_by_ = told->role.empty() ? role_source::none : role_source::hello;
        // A replica may be promoted before the next connection.
        is_replica_ = is_replicas(told->role);
        if (!told->fault.empty()) {
            return fail(std::move(told->fault), true);
        }
    } else {
        // The answer is no greeting. A proxy may have made it up.
        hello_refused_ = true;
        more += greet_without_hello(out);
    }
    more += ask_the_rest(out);
    return progress::going_on;
}

unsigned handshake::ask_the_rest(std::string& out)
{
    const unsigned before = last_;
    if (node_->db != 0) {
        resp::append(out, "SELECT", std::int64_t{node_->db});
        expect(step::select);
    }
    for (const resp::script* s : loaded_scripts) {
        resp::append(out, "SCRIPT", "LOAD", s->text);
        expect(step::load_script);
    }
    resp::append(out, "COMMAND", "INFO", "delifeq", "delex");
    expect(step::capabilities);
    append_probe(out, true);
    expect(step::probe);
    resp::append(out, "INFO", "server");
    expect(step::server_info);
    // Also after a role from HELLO, because a proxy may answer HELLO without asking the server.
    resp::append(out, "INFO", "replication");
    expect(step::replication_info);
    if (is_guarded()) {
        resp::append(out, "INFO", "memory");
        expect(step::memory_info);
        resp::append(out, "GET", resp::key{settings_->key_prefix, base::marker_resource});
        expect(step::marker);
    }
    return last_ - before;
}

handshake::progress handshake::on_step(step s, const resp::reply& r, std::string& out,
                                       unsigned& more)
{
    if (s == step::auth) {
        return on_auth(r);
    }
    if (r.is_error() && resp::has_code(r.text(), "NOAUTH")) {
        return refused_login(no_login, r);
    }
    switch (s) {
        case step::client_name: return progress::going_on;  // the name is optional
        case step::select:
            is_refused_database_ = r.is_error() && says_no_database(r.text());
            return r.is_error()
                       ? refused("the server refused the database " + std::to_string(node_->db), r)
                       : progress::going_on;
        case step::load_script:
            // A script that the server does not load is sent as text at its first use.
            return r.is_error() && resp::is_temporary(r.text())
                       ? refused("the server does not accept scripts now", r)
                       : progress::going_on;
        case step::capabilities: note_capabilities(r); return progress::going_on;
        case step::probe:
        case step::probe_with_text:
        case step::probe_text_only:
        case step::probe_native: return on_probe(s, r, out, more);
        case step::server_info: return on_server_info(r);
        case step::replication_info: return on_role(role_source::info, r, out, more);
        case step::role: return on_role(role_source::role, r, out, more);
        case step::memory_info: return on_memory_info(r);
        case step::marker: return on_marker(r);
        case step::hello:
        case step::auth: break;
    }
    return fail("a reply came out of turn", true);
}

/// A server that refuses AUTH in other words than the known ones may not need a login: it may have
/// no password. If it needs one, it refuses a later command, and the reason then names the login.
handshake::progress handshake::on_auth(const resp::reply& r)
{
    const bool is_refused = r.is_error() && (has_no_room(r.text()) || says_wrong_login(r.text()) ||
                                             is_final(r.text(), !login_.empty()));
    if (is_refused) {
        return refused_login(refused_user, r);
    }
    is_refused_login_ = r.is_error();
    return progress::going_on;
}

/// A guarded node that does not give what the restart guard needs is not used. Without the guard,
/// the run id only shows that two addresses lead to one server. A server without HELLO gives its
/// mode only here.
handshake::progress handshake::on_server_info(const resp::reply& r)
{
    if (r.is_error()) {
        return is_guarded() ? refused("the server refused INFO, which the restart guard needs", r)
                            : progress::going_on;
    }
    if (!r.is_string()) {
        return is_guarded() || !r.is_null() ? fail(std::string(no_info), true) : progress::going_on;
    }
    if (std::string fault = mode_fault(mode_of(r.text())); !fault.empty()) {
        return fail(std::move(fault), true);
    }
    run_id_ = run_id_of(r.text());
    return run_id_.empty() && is_guarded()
               ? fail("INFO has no run_id, which the restart guard needs", true)
               : progress::going_on;
}

/// The handshake also succeeds without a role, because the user may have no permission for INFO and
/// ROLE. A replica that accepts no writes refuses each SET anyway.
handshake::progress handshake::on_role(role_source by, const resp::reply& r, std::string& out,
                                       unsigned& more)
{
    const std::string name = by == role_source::info ? "INFO" : "ROLE";
    if (r.is_error() && resp::is_temporary(r.text())) {
        return refused("the server refused " + name, r);
    }
    auto told = read_role(r, by);
    if (!told && !r.is_error() && !r.is_null()) {
        return fail("the answer to " + name + " is not valid", true);
    }
    if (told && !told->role.empty()) {
        role_reported_by_ = by;
        is_replica_ = is_replicas(told->role);
        return told->fault.empty() ? progress::going_on : fail(std::move(told->fault), true);
    }
    if (by == role_source::info && role_reported_by_ == role_source::none) {
        append_role_query(out, role_source::role);
        expect(step::role);
        ++more;
    }
    return progress::going_on;
}

handshake::progress handshake::on_memory_info(const resp::reply& r)
{
    if (r.is_error()) {
        return refused("the server refused INFO, which the restart guard needs", r);
    }
    if (!r.is_string()) {
        return fail(std::string(no_info), true);
    }
    const std::string_view fault = memory_fault(r.text());
    return fault.empty() ? progress::going_on : fail(std::string(fault), true);
}

handshake::progress handshake::on_marker(const resp::reply& r)
{
    if (r.is_error()) {
        return refused("the restart guard's marker cannot be read", r);
    }
    if (!r.is_null() && !r.is_string()) {
        return fail("the restart guard's marker is no text", true);
    }
    if (!r.is_null()) {
        marker_.emplace(r.text());
    }
    return progress::going_on;
}

/// COMMAND INFO returns a null for each command that the server does not have.
void handshake::note_capabilities(const resp::reply& r)
{
    if (r.type() != resp::reply_type::array) {
        return;  // forbidden, or a proxy: the client uses the script
    }
    if (r.at(0).is_aggregate() && r.at(0).size() > 0) {
        deletes_by_ = compare_and_delete::delifeq;
    } else if (r.at(1).is_aggregate() && r.at(1).size() > 0) {
        deletes_by_ = compare_and_delete::delex;
    }
}

void handshake::append_probe(std::string& out, bool by_digest) const
{
    resp::append(out, resp::script_call{resp::release_script, by_digest}, "1",
                 resp::key{settings_->key_prefix, probe_resource}, no_owner);
}

void handshake::append_native_probe(std::string& out) const
{
    const resp::key probe{settings_->key_prefix, probe_resource};
    if (deletes_by_ == compare_and_delete::delifeq) {
        resp::append(out, "DELIFEQ", probe, no_owner);
    } else {
        resp::append(out, "DELEX", probe, "IFEQ", no_owner);
    }
}

/// A node that permits no compare-and-delete is not used, because a lock there could only expire.
/// Neither is a server that answers neither 1 nor 0: it may only echo, or TCP may have connected to
/// itself. An error about the key of the trial alone does no harm.
handshake::progress handshake::on_probe(step s, const resp::reply& r, std::string& out,
                                        unsigned& more)
{
    const bool is_answer = r.is_integer() && (r.integer() == 0 || r.integer() == 1);
    if (!is_answer && !r.is_error()) {
        return fail("the answer to a trial release is not valid", true);
    }
    if (is_answer || resp::says_key_not_permitted(r.text()) || resp::says_wrong_type(r.text())) {
        wants_text_ = s == step::probe_text_only;
        return progress::going_on;
    }
    if (resp::is_temporary(r.text()) || !resp::unfit_because(r.text()).empty()) {
        return refused("the server refused a trial release", r);
    }
    if (s == step::probe) {
        const bool may_use_digests = resp::has_code(r.text(), "NOSCRIPT");
        append_probe(out, false);
        expect(may_use_digests ? step::probe_with_text : step::probe_text_only);
        ++more;
        return progress::going_on;
    }
    if (s == step::probe_native || deletes_by_ == compare_and_delete::script) {
        if (!code_of(r.text()).empty()) {
            return refused(no_release, r);
        }
        // The reason keeps the words of the first such answer. A proxy may number its answers, and
        // the log has each reason only once.
        if (probe_error_.empty()) {
            probe_error_ = resp::clean_error(r.text(), login_.password());
        }
        std::string with_words(no_release);
        with_words += ": ";
        with_words += probe_error_;
        return refused(with_words, r);
    }
    append_native_probe(out);
    expect(step::probe_native);
    ++more;
    return progress::going_on;
}

}  // namespace redlock::core
