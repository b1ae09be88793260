#include "sim/model_master.hpp"

#include "sim/wire.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace redlock::test {
namespace {

using base::instant;
using namespace wire;
using std::chrono::milliseconds;

/// One header, as in "*3\r\n", off the front; nothing if it is not there yet.
std::optional<std::size_t> take_count(std::string_view& bytes, char mark)
{
    if (bytes.empty()) {
        return std::nullopt;
    }
    if (bytes.front() != mark) {
        throw std::runtime_error("what was written is no command");
    }
    const std::size_t end = bytes.find("\r\n");
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    std::size_t count = 0;
    const auto parsed = std::from_chars(bytes.data() + 1, bytes.data() + end, count);
    if (parsed.ptr != bytes.data() + end) {
        throw std::runtime_error("what was written has no length");
    }
    bytes.remove_prefix(end + 2);
    return count;
}

std::optional<std::string> take_word(std::string_view& bytes)
{
    const auto size = take_count(bytes, '$');
    if (!size || bytes.size() < *size + 2) {
        return std::nullopt;
    }
    if (bytes.substr(*size, 2) != "\r\n") {
        throw std::runtime_error("a word that was written does not end");
    }
    std::string word(bytes.substr(0, *size));
    bytes.remove_prefix(*size + 2);
    return word;
}

std::string null_of(const session& s)
{
    return s.protocol == 3 ? "_\r\n" : "$-1\r\n";
}

constexpr std::string_view ok = "+OK\r\n";
constexpr std::string_view wrong_password =
    "WRONGPASS invalid username-password pair or user is disabled.";
constexpr std::string_view no_login = "NOAUTH Authentication required.";
/// A fencing counter below this was not set by a clock.
constexpr std::int64_t least_seeded = 1'000'000'000'000'000;
constexpr std::string_view no_integer = "ERR value is not an integer or out of range";

/// What COMMAND INFO tells of a command, and what a server looks at before it does one.
struct command_traits {
    std::string_view name;
    int arity;
    /// Is done by a server that is loading; is refused by one that is full.
    bool while_loading = false;
    bool takes_memory = false;
};

constexpr std::array known_commands{
    command_traits{"AUTH", -2, true},
    command_traits{"CLIENT", -2, true},
    command_traits{"COMMAND", -1, true},
    command_traits{"DEL", -2},
    command_traits{"DELEX", -2},
    command_traits{"DELIFEQ", 3},
    command_traits{"EVAL", -3},
    command_traits{"EVALSHA", -3},
    command_traits{"EXISTS", -2},
    command_traits{"FLUSHALL", -1},
    command_traits{"GET", 2},
    command_traits{"HELLO", -1, true},
    command_traits{"HSET", -4, false, true},
    command_traits{"INCR", 2, false, true},
    command_traits{"INFO", -1, true},
    command_traits{"PEXPIRE", -3},
    command_traits{"PING", -1},
    command_traits{"PTTL", 2},
    command_traits{"SCRIPT", -2},
    command_traits{"SELECT", 2, true},
    command_traits{"SET", -3, false, true},
};

const command_traits* traits_of(std::string_view name)
{
    const auto at = std::ranges::find(known_commands, name, &command_traits::name);
    return at == known_commands.end() ? nullptr : &*at;
}

/// Names of clients and of commands, as servers compare and tell them.
std::string in_case(std::string text, int (*change)(int))
{
    std::ranges::transform(text, text.begin(), [&](char c) {
        return static_cast<char>(change(static_cast<unsigned char>(c)));
    });
    return text;
}

/// What COMMAND INFO says of one: ten things, of which lists of flags are sets to who knows sets.
/// Which keys it takes, what others it is made of, and more that there is to say, is left empty.
std::string told_of(const command_traits& c, const session& s)
{
    const std::string list = s.protocol == 3 ? "~" : "*";
    const std::string none = list + "0\r\n";
    const int flags = static_cast<int>(c.while_loading) + static_cast<int>(c.takes_memory);
    return "*10\r\n" + bulk(in_case(std::string(c.name), std::tolower)) + integer(c.arity) + list +
           std::to_string(flags) + "\r\n" + (c.while_loading ? "+loading\r\n" : "") +
           (c.takes_memory ? "+denyoom\r\n" : "") + integer(0) + integer(0) + integer(0) + none +
           none + none + none;
}

std::string select(std::string_view database)
{
    const auto n = number<int>(database);
    if (!n) {
        return error(no_integer);
    }
    return *n >= 0 && *n < 16 ? std::string(ok) : error("ERR DB index is out of range");
}

/// Of CLIENT SETNAME and HELLO ... SETNAME: nothing, or the error.
std::optional<std::string> refused_name(std::string_view name)
{
    if (std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; })) {
        return std::nullopt;
    }
    return error("ERR Client names cannot contain spaces, newlines or special characters.");
}

}  // namespace

std::optional<words> take_command(std::string_view& bytes)
{
    std::string_view rest = bytes;
    const auto count = take_count(rest, '*');
    if (!count) {
        return std::nullopt;
    }
    words w;
    w.reserve(*count);
    while (w.size() < *count) {
        auto word = take_word(rest);
        if (!word) {
            return std::nullopt;
        }
        w.push_back(std::move(*word));
    }
    bytes = rest;
    return w;
}

std::vector<words> parse_commands(std::string_view bytes)
{
    std::vector<words> commands;
    while (auto w = take_command(bytes)) {
        commands.push_back(std::move(*w));
    }
    if (!bytes.empty()) {
        throw std::runtime_error("what was written ends within a command");
    }
    return commands;
}

// The keys.

const model_master::entry* model_master::find(instant now, std::string_view key) const
{
    const auto at = keys_.find(key);
    const bool alive = at != keys_.end() && (!at->second.end || *at->second.end > now);
    return alive ? &at->second : nullptr;
}

std::string model_master::value(instant now, const std::string& key) const
{
    const entry* e = find(now, key);
    return e == nullptr ? std::string() : e->value;
}

std::size_t model_master::keys(instant now) const
{
    return static_cast<std::size_t>(std::count_if(keys_.begin(), keys_.end(), [&](const auto& k) {
        return !k.second.end || *k.second.end > now;
    }));
}

std::int64_t model_master::pttl(instant now, const std::string& key) const
{
    const entry* e = find(now, key);
    if (e == nullptr) {
        return -2;
    }
    return e->end ? std::chrono::floor<milliseconds>(*e->end - now).count() : -1;
}

/// `to`: what the key becomes; nothing: it goes. `during`: whose command is being done.
void model_master::change(const std::string& key, std::optional<entry> to, session* by,
                          session* during)
{
    const auto at = keys_.find(key);
    std::optional<entry> before;
    const entry* after = nullptr;
    if (at != keys_.end()) {
        before = std::exchange(at->second, {});
    }
    if (to) {
        after = &keys_.insert_or_assign(key, std::move(*to)).first->second;
    } else if (before) {
        keys_.erase(at);
    }
    if (watched_by != nullptr) {
        watched_by->on_change(key, before ? &*before : nullptr, after, by);
    }
    invalidate(key, during);
}

void model_master::change(const std::string& key, std::optional<entry> to, session* by)
{
    change(key, std::move(to), by, by);
}

/// Whoever names a key that is over removes it, and changes nothing by that.
void model_master::come_upon(instant now, session& s, const std::string& key)
{
    const auto at = keys_.find(key);
    if (at != keys_.end() && at->second.end && *at->second.end <= now) {
        change(key, std::nullopt, nullptr, &s);
    }
}

void model_master::expire(instant now)
{
    for (auto at = keys_.begin(); at != keys_.end();) {
        const auto next = std::next(at);
        if (at->second.end && *at->second.end <= now) {
            const std::string key = at->first;
            change(key, std::nullopt, nullptr);
        }
        at = next;
    }
}

void model_master::flush_keys()
{
    while (!keys_.empty()) {
        const std::string key = keys_.begin()->first;
        change(key, std::nullopt, nullptr);
    }
}

void model_master::lose(const std::string& key)
{
    change(key, std::nullopt, nullptr);
}

void model_master::lose_among_all(const std::string& key)
{
    tracked_.clear();
    lose(key);
    tell_of_all(nullptr);
}

void model_master::swap_keys_away()
{
    auto tracked = std::exchange(tracked_, {});
    flush_keys();
    tracked_ = std::move(tracked);
}

// Tracking.

void model_master::track(session& s, const std::string& key)
{
    const bool is_chosen = s.tracks == session::tracking::chosen && s.tracks_now;
    if (!is_chosen && s.tracks != session::tracking::all) {
        return;
    }
    auto& all = tracked_[key];
    if (std::find(all.begin(), all.end(), &s) == all.end()) {
        all.push_back(&s);
    }
}

/// A push to everybody who has read the key and can be told, once; it is tracked no more.
void model_master::invalidate(const std::string& key, session* by)
{
    const auto at = tracked_.find(key);
    if (at == tracked_.end()) {
        return;
    }
    const std::string push = ">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk(key);
    for (session* s : at->second) {
        if (s != by || !s->is_spared) {
            tell(*s, push, by);
        }
    }
    tracked_.erase(at);
}

void model_master::give_up_tracking(std::uint64_t which)
{
    if (!tracked_.empty()) {
        const auto nth = static_cast<std::ptrdiff_t>(which % tracked_.size());
        invalidate(std::string(std::next(tracked_.begin(), nth)->first), nullptr);
    }
}

/// Pushes are of RESP3; with RESP2 nothing is told.
void model_master::tell(session& s, std::string_view push, const session* by)
{
    if (s.tracks != session::tracking::off && s.protocol == 3) {
        (&s == by ? own_pushes_ : s.out) += push;
        has_told = has_told || &s != by;
    }
}

void model_master::tell_of_all(const session* by)
{
    const std::string push = ">2\r\n" + bulk("invalidate") + "_\r\n";
    for (session* t : trackers_) {
        tell(*t, push, by);
    }
}

void model_master::forget(session& s)
{
    std::erase(trackers_, &s);
    for (auto& [key, all] : tracked_) {
        std::erase(all, &s);
    }
}

// Commands.

std::string model_master::execute(instant now, session& s, const words& command)
{
    ++commands;
    // Only the command behind CLIENT CACHING YES is meant, and those about the connection between.
    s.tracks_now = command.at(0) != "CLIENT" && std::exchange(s.tracks_next, false);
    if (auto refused = refusal(command, s)) {
        return std::move(*refused);
    }
    const std::string& name = command.at(0);
    if (name == "HELLO") {
        return hello(s, command);
    }
    if (name == "AUTH") {
        return auth(s, command);
    }
    if (name == "INFO") {
        return info(s, command);
    }
    if (name == "PING") {
        return "+PONG\r\n";
    }
    if (name == "SELECT") {
        return select(command.at(1));
    }
    if (name == "CLIENT") {
        return client(s, command);
    }
    if (name == "SCRIPT") {
        return script_command(command);
    }
    if (name == "COMMAND") {
        return command_info(s, command);
    }
    if (name == "FLUSHALL") {
        return flush_all(s);
    }
    std::string reply = keyed(now, s, command);
    return reply + std::exchange(own_pushes_, {});
}

bool model_master::has(std::string_view name) const
{
    return traits_of(name) != nullptr && (name != "HELLO" || knows_hello) &&
           (name != "DELIFEQ" || has_delifeq) && (name != "DELEX" || has_delex);
}

/// What the server says instead of doing it, in the order in which servers look at these things.
std::optional<std::string> model_master::refusal(const words& command, const session& s) const
{
    const std::string& name = command.at(0);
    if (!refusals.empty()) {
        const std::string both = command.size() > 1 ? name + " " + command[1] : name;
        for (const std::string& known : {name, both}) {
            if (const auto refused = refusals.find(known); refused != refusals.end()) {
                return error(refused->second);
            }
        }
    }
    const bool is_stranger = !password.empty() && !s.authenticated;
    if (!has(name)) {
        return is_stranger && hides_commands ? error(no_login) : unknown(command);
    }
    if (is_stranger && name != "HELLO" && name != "AUTH") {
        return error(no_login);
    }
    const command_traits& traits = *traits_of(name);
    // A server that is loading still greets, and tells of itself; it looks at its memory later.
    if (is_loading) {
        return traits.while_loading
                   ? std::nullopt
                   : std::optional(error("LOADING Redis is loading the dataset in memory"));
    }
    // Scripts without a shebang are let in, and only what they call is looked at.
    if (is_full && traits.takes_memory) {
        return error(no_memory);
    }
    return std::nullopt;
}

/// In the words of its time.
std::string model_master::unknown(const words& command) const
{
    constexpr std::size_t room = 128;
    std::string arguments;
    for (std::size_t i = 1; i < command.size() && arguments.size() < room; ++i) {
        const std::string some = command[i].substr(0, room - arguments.size());
        arguments += knows_hello ? "'" + some + "' " : "`" + some + "`, ";
    }
    const std::string quoted = knows_hello ? "'" + command[0] + "'" : "`" + command[0] + "`";
    return error("ERR unknown command " + quoted + ", with args beginning with: " + arguments);
}

/// A command that speaks of keys.
std::string model_master::keyed(instant now, session& s, const words& command)
{
    const std::string& name = command[0];
    if (name == "EVALSHA" || name == "EVAL") {
        return eval(now, s, command);
    }
    if (name == "DEL") {
        return remove(now, s, command);
    }
    if (name == "SET") {
        return set(now, s, command);
    }
    come_upon(now, s, command.at(1));
    if (name == "GET" || name == "PTTL" || name == "EXISTS") {
        track(s, command[1]);
    }
    if (name == "DELIFEQ" || name == "DELEX") {
        return compare_and_delete(now, s, command.at(1), command.back());
    }
    if (name == "PTTL") {
        return integer(pttl(now, command.at(1)));
    }
    if (name == "EXISTS") {
        return integer(find(now, command.at(1)) != nullptr);
    }
    if (name == "GET") {
        return get(now, s, command.at(1));
    }
    if (name == "PEXPIRE") {
        return pexpire(now, s, command);
    }
    if (name == "INCR") {
        return increment(now, s, command.at(1));
    }
    if (name == "HSET") {
        const entry* there = find(now, command.at(1));
        if (there != nullptr && !there->foreign_kind) {
            return error(wrong_type);
        }
        const bool is_new = there == nullptr;
        change(command[1], is_new ? entry{{}, std::nullopt, true} : entry{*there}, &s);
        return integer(is_new);
    }
    throw std::logic_error("a command that the model knows and does not do");
}

std::string model_master::hello(session& s, const words& command)
{
    int protocol = s.protocol;
    if (command.size() > 1) {
        const auto wanted = number<int>(command[1]);
        if (!wanted) {
            return error("ERR Protocol version is not an integer or out of range");
        }
        if (*wanted != 2 && *wanted != 3) {
            return error("NOPROTO unsupported protocol version");
        }
        protocol = *wanted;
    }
    if (auto refused = hello_options(s, command)) {
        return std::move(*refused);
    }
    if (!password.empty() && !s.authenticated) {
        return error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
            "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and "
            "select the RESP protocol version at the same time");
    }
    s.protocol = protocol;
    return greeting(s);
}

/// AUTH and SETNAME, in any order: nothing, or the error.
std::optional<std::string> model_master::hello_options(session& s, const words& command) const
{
    for (std::size_t i = 2; i < command.size(); ++i) {
        if (command[i] == "AUTH" && i + 2 < command.size()) {
            if (!password.empty() && command[i + 2] != password) {
                return error(wrong_password);
            }
            s.authenticated = true;
            i += 2;
        } else if (command[i] == "SETNAME" && i + 1 < command.size()) {
            if (auto refused = refused_name(command[++i])) {
                return std::move(*refused);
            }
        } else {
            return error("ERR Syntax error in HELLO option '" + command[i] + "'");
        }
    }
    return std::nullopt;
}

std::string model_master::greeting(const session& s) const
{
    return std::string(s.protocol == 3 ? "%7\r\n" : "*14\r\n") + bulk("server") + bulk("redis") +
           bulk("version") + bulk("7.0.15") + bulk("proto") + integer(s.protocol) + bulk("id") +
           integer(1) + bulk("mode") + bulk(mode) + bulk("role") + bulk(role) + bulk("modules") +
           "*0\r\n";
}

std::string model_master::auth(session& s, const words& command)
{
    if (password.empty() && command.size() == 2) {
        return error(
            "ERR AUTH <password> called without any password configured for the default user. "
            "Are you sure your configuration is correct?");
    }
    if (!password.empty() && command.back() != password) {
        return error(wrong_password);
    }
    s.authenticated = true;
    return std::string(ok);
}

std::string model_master::client(session& s, const words& command)
{
    const std::string& what = command.at(1);
    if (what == "SETNAME") {
        return refused_name(command.at(2)).value_or(std::string(ok));
    }
    if (what == "TRACKING") {
        return client_tracking(s, command);
    }
    if (what == "CACHING") {
        return client_caching(s, command);
    }
    throw std::runtime_error("CLIENT with what no lock needs");
}

std::string model_master::client_tracking(session& s, const words& command)
{
    using tracking = session::tracking;
    if (command.at(2) == "OFF") {
        // What was read is remembered, for when it is turned on again.
        s.tracks = tracking::off;
        s.tracks_next = false;
        std::erase(trackers_, &s);
        return std::string(ok);
    }
    const auto options = std::span(command).subspan(3);
    const auto has = [&](std::string_view option) {
        return std::find(options.begin(), options.end(), option) != options.end();
    };
    if (s.tracks == tracking::off) {
        trackers_.push_back(&s);
    }
    s.tracks = has("OPTIN") ? tracking::chosen : tracking::all;
    s.is_spared = has("NOLOOP");
    return std::string(ok);
}

std::string model_master::client_caching(session& s, const words& command)
{
    using tracking = session::tracking;
    if (s.tracks == tracking::off) {
        return error(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with "
            "OPTIN or OPTOUT mode enabled");
    }
    if (command.at(2) != "YES") {
        return error(
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
    }
    if (s.tracks != tracking::chosen) {
        return error(
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
    }
    s.tracks_next = true;
    return std::string(ok);
}

std::optional<model_master::script> model_master::script_of(std::string_view sha1_or_text)
{
    for (std::size_t i = 0; i < contract_scripts.size(); ++i) {
        if (contract_scripts[i].sha1 == sha1_or_text || contract_scripts[i].text == sha1_or_text) {
            return static_cast<script>(i);
        }
    }
    return std::nullopt;
}

std::string model_master::script_command(const words& command)
{
    const std::string& what = command.at(1);
    if (what == "FLUSH") {
        scripts_.clear();
        return std::string(ok);
    }
    if (what == "EXISTS") {
        std::string there = "*" + std::to_string(command.size() - 2) + "\r\n";
        for (std::size_t i = 2; i < command.size(); ++i) {
            there += integer(scripts_.contains(command[i]));
        }
        return there;
    }
    const auto known = script_of(command.at(2));
    if (what != "LOAD" || !known) {
        throw std::runtime_error("a script that is none of the contract's was loaded");
    }
    const std::string_view sha1 = contract_scripts[static_cast<std::size_t>(*known)].sha1;
    scripts_.emplace(sha1);
    return bulk(sha1);
}

/// Of the sections that a client of locks could want, all or one.
std::string model_master::info(const session& s, const words& command) const
{
    const std::string section = command.size() > 1 ? in_case(command[1], std::tolower) : "";
    std::string text;
    if (section.empty() || section == "server") {
        text += "# Server\r\nredis_version:7.0.15\r\nredis_mode:" + mode + "\r\nrun_id:" + run_id +
                "\r\n";
    }
    if (section.empty() || section == "memory") {
        text += "# Memory\r\nmaxmemory:" + maxmemory + "\r\nmaxmemory_policy:" + maxmemory_policy +
                "\r\n";
    }
    if (section.empty() || section == "replication") {
        text += "# Replication\r\nrole:" + role + "\r\n";
    }
    if (s.protocol == 3) {
        return "=" + std::to_string(text.size() + 4) + "\r\ntxt:" + text + "\r\n";
    }
    return bulk(text);
}

/// No more than what tells a command from none; servers tell ten things of each.
std::string model_master::command_info(const session& s, const words& command) const
{
    std::string all = "*" + std::to_string(command.size() - 2) + "\r\n";
    for (std::size_t i = 2; i < command.size(); ++i) {
        const std::string name = in_case(command[i], std::toupper);
        all += has(name) ? told_of(*traits_of(name), s) : null_of(s);
    }
    return all;
}

/// Everybody who tracks is told once, and of no key.
std::string model_master::flush_all(const session& s)
{
    tracked_.clear();
    flush_keys();
    tell_of_all(&s);
    return std::string(ok) + std::exchange(own_pushes_, {});
}

std::string model_master::set(instant now, session& s, const words& command)
{
    ++sets;
    entry e{command.at(2), std::nullopt, false};
    bool only_new = false;
    bool only_there = false;
    for (std::size_t i = 3; i < command.size(); ++i) {
        only_new |= command[i] == "NX";
        only_there |= command[i] == "XX";
        if (command[i] == "PX") {
            const auto ms = number<std::int64_t>(command.at(++i));
            if (!ms) {
                return error(no_integer);
            }
            if (*ms <= 0) {
                return error("ERR invalid expire time in 'set' command");
            }
            e.end = now + milliseconds{*ms};
        }
    }
    // What it can't do it doesn't begin: only from here on is the key looked at.
    come_upon(now, s, command.at(1));
    const bool is_there = find(now, command[1]) != nullptr;
    if ((only_new && is_there) || (only_there && !is_there)) {
        return null_of(s);
    }
    change(command[1], std::move(e), &s);
    return std::string(ok);
}

std::string model_master::get(instant now, const session& s, const std::string& key)
{
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    return e == nullptr ? null_of(s) : bulk(e->value);
}

std::string model_master::remove(instant now, session& s, const words& command)
{
    std::int64_t removed = 0;
    for (std::size_t i = 1; i < command.size(); ++i) {
        come_upon(now, s, command[i]);
        if (find(now, command[i]) != nullptr) {
            change(command[i], std::nullopt, &s);
            ++removed;
        }
    }
    return integer(removed);
}

std::string model_master::pexpire(instant now, session& s, const words& command)
{
    const entry* there = find(now, command.at(1));
    if (there == nullptr) {
        return integer(0);
    }
    const milliseconds ttl{std::stoll(command.at(2))};
    if (ttl <= milliseconds{0}) {
        change(command[1], std::nullopt, &s);
        return integer(1);
    }
    entry e = *there;
    e.end = now + ttl;
    change(command[1], std::move(e), &s);
    return integer(1);
}

std::string model_master::increment(instant now, session& s, const std::string& key)
{
    const entry* there = find(now, key);
    if (there != nullptr && there->foreign_kind) {
        return error(wrong_type);
    }
    std::int64_t n = 0;
    entry e;
    if (there != nullptr) {
        e = *there;
        const auto was = number<std::int64_t>(e.value);
        if (!was) {
            return error(no_integer);
        }
        n = *was;
    }
    e.value = std::to_string(++n);
    change(key, std::move(e), &s);
    return integer(n);
}

// Scripts.

std::string model_master::eval(instant now, session& s, const words& command)
{
    const bool by_digest = command[0] == "EVALSHA";
    if (by_digest && !scripts_.contains(command.at(1))) {
        return error("NOSCRIPT No matching script. Please use EVAL.");
    }
    const auto known = script_of(command.at(1));
    const auto keys = number<std::size_t>(command.at(2));
    const bool is_of_one = known && *known <= script::count;
    if (!known || !keys || *keys == 0 || command.size() < 3 + *keys || (is_of_one && *keys != 1)) {
        throw std::runtime_error("a script that is none of the contract's");
    }
    scripts_.emplace(contract_scripts[static_cast<std::size_t>(*known)].sha1);
    return run(now, s, *known, command);
}

std::string model_master::run(instant now, session& s, script which, const words& command)
{
    const auto end_of_keys = command.begin() + 3 + number<std::ptrdiff_t>(command.at(2)).value();
    keys_of_script_.assign(command.begin() + 3, end_of_keys);
    const words& keys = keys_of_script_;
    const words args(end_of_keys, command.end());
    const std::string& key = keys.front();
    switch (which) {
        case script::raise: return raise(now, s, keys, args);
        case script::admit: return admit(now, s, command);
        case script::take: return take(now, s, keys, args);
        case script::extend_all: return extend_all(now, s, keys, args);
        case script::release_all: return release_all(now, s, keys, args);
        case script::inspect:
        case script::release:
        case script::count:
        case script::extend: read(now, s, key); break;
    }
    switch (which) {
        case script::inspect: return inspect(now, s, key);
        case script::release: return compare_and_delete(now, s, key, command.at(4));
        case script::count: return count(now, s, command);
        case script::extend:
        case script::raise:
        case script::admit:
        case script::take:
        case script::extend_all:
        case script::release_all: break;
    }
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    if (e == nullptr || e->value != command.at(4)) {
        return integer(0);
    }
    const milliseconds ttl{std::stoll(command.at(5))};
    if (pttl(now, key) < ttl.count()) {
        change(key, entry{e->value, now + ttl, false}, &s);
    }
    return integer(1);
}

std::string model_master::compare_and_delete(instant now, session& s, const std::string& key,
                                             const std::string& token)
{
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    const bool ours = e != nullptr && e->value == token;
    if (ours) {
        change(key, std::nullopt, &s);
    }
    return integer(ours ? 1 : 0);
}

/// EVALSHA sha1 1 counter seed slack_us ttl_ms
std::string model_master::count(instant now, session& s, const words& command)
{
    const std::string& key = command.at(3);
    const entry* there = find(now, key);
    if (there != nullptr && there->foreign_kind) {
        return error(wrong_type);
    }
    const milliseconds ttl{std::stoll(command.at(6))};
    const auto seed = number<std::int64_t>(command.at(4)).value();
    const auto counter =
        there == nullptr ? std::optional<std::int64_t>(0) : number<std::int64_t>(there->value);
    if (is_full) {
        return error(no_memory);
    }
    if (!counter) {
        return error(no_integer);
    }
    std::int64_t value = *counter + 1;
    if (*counter < least_seeded && seed > 0) {
        const std::int64_t half = number<std::int64_t>(command.at(5)).value() / 2;
        value = std::clamp(seed, date(now) - half, date(now) + half);
    }
    change(key, entry{std::to_string(value), now + ttl, false}, &s);
    return integer(value);
}

std::string model_master::inspect(instant now, const session& s, const std::string& key)
{
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    const std::string value = e == nullptr ? null_of(s) : bulk(e->value.substr(0, 64));
    return "*2\r\n" + value + integer(pttl(now, key));
}

/// What writes is refused for want of memory when it is come to, and what stands before it is done.
std::string model_master::admit(instant now, session& s, const words& command)
{
    const std::string& pending = command.at(3);
    const std::string& marker = command.at(4);
    const std::string& run = command.at(5);
    read(now, s, marker);
    const entry* there = find(now, marker);
    if (there != nullptr && there->foreign_kind) {
        return error(wrong_type);
    }
    if (there != nullptr && there->value.starts_with(run)) {
        return bulk(there->value);
    }
    read(now, s, pending);
    const entry* left = find(now, pending);
    if (left != nullptr && left->foreign_kind) {
        return error(wrong_type);
    }
    if (left == nullptr || left->value != run) {
        return null_of(s);
    }
    if (is_full) {
        return error(no_memory);
    }
    const std::string dated = command.at(6) + std::to_string(date(now));
    change(marker, entry{dated, std::nullopt, false}, &s);
    change(pending, std::nullopt, &s);
    return bulk(dated);
}

}  // namespace redlock::test
