#include "sim/model_master.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace redlock::test {
namespace {

using base::instant;
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

std::string integer(std::int64_t n)
{
    return ":" + std::to_string(n) + "\r\n";
}

std::string bulk(std::string_view text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string null_of(const session& s)
{
    return s.protocol == 3 ? "_\r\n" : "$-1\r\n";
}

std::string error(std::string_view text)
{
    return "-" + std::string(text) + "\r\n";
}

std::string unknown(const words& command)
{
    std::string text = "ERR unknown command '" + command[0] + "', with args beginning with: ";
    for (std::size_t i = 1; i < command.size(); ++i) {
        text += "'" + command[i] + "' ";
    }
    return error(text);
}

constexpr std::string_view ok = "+OK\r\n";
constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view no_memory = "OOM command not allowed when used memory > 'maxmemory'.";

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

// ---- the keys

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

/// `to`: what the key becomes; nothing: it goes.
void model_master::change(const std::string& key, std::optional<entry> to, session* by)
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
    invalidate(key, by);
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

// ---- tracking

void model_master::track(session& s, const std::string& key)
{
    if (!s.tracks_now) {
        return;
    }
    auto& all = tracked_[key];
    if (std::find(all.begin(), all.end(), &s) == all.end()) {
        all.push_back(&s);
    }
}

/// A push to everybody who tracks the key, once; it is tracked no more.
void model_master::invalidate(const std::string& key, session* by)
{
    const auto at = tracked_.find(key);
    if (at == tracked_.end()) {
        return;
    }
    const std::string push = ">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk(key);
    for (session* s : at->second) {
        (s == by ? own_pushes_ : s->out) += push;
    }
    tracked_.erase(at);
}

void model_master::forget(session& s)
{
    for (auto& [key, all] : tracked_) {
        std::erase(all, &s);
    }
}

// ---- commands

std::string model_master::execute(instant now, session& s, const words& command)
{
    ++commands;
    // Only what is read is tracked, and only by the command behind CLIENT CACHING YES.
    s.tracks_now = command.at(0) != "CLIENT" && std::exchange(s.tracks_next, false) && s.tracks;
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
    if (!password.empty() && !s.authenticated) {
        return error("NOAUTH Authentication required.");
    }
    if (name == "INFO") {
        return info(s);
    }
    if (name == "PING") {
        return "+PONG\r\n";
    }
    if (name == "SELECT") {
        return std::string(ok);
    }
    if (name == "CLIENT") {
        return client(s, command);
    }
    if (name == "SCRIPT") {
        return script_command(command);
    }
    if (name == "COMMAND") {
        const std::string known = "*2\r\n$1\r\nx\r\n:3\r\n";
        return "*2\r\n" + (has_delifeq ? known : null_of(s)) + (has_delex ? known : null_of(s));
    }
    if (name == "FLUSHALL") {
        flush_keys();
        return std::string(ok);
    }
    if (name == "GET" || name == "PTTL" || name == "EXISTS") {
        track(s, command.at(1));
    }
    std::string reply = keyed(now, s, command);
    return reply + std::exchange(own_pushes_, {});
}

/// What the server says instead of doing it.
std::optional<std::string> model_master::refusal(const words& command, const session&) const
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
    // A server that is loading still greets, and tells of itself.
    if (is_loading && name != "HELLO" && name != "AUTH" && name != "INFO" && name != "CLIENT" &&
        name != "COMMAND" && name != "SELECT") {
        return error("LOADING Redis is loading the dataset in memory");
    }
    // Scripts without a shebang are let in, and only what they call is looked at.
    if (is_full && (name == "SET" || name == "INCR" || name == "HSET")) {
        return error(no_memory);
    }
    return std::nullopt;
}

/// A command that speaks of one key.
std::string model_master::keyed(instant now, session& s, const words& command)
{
    const std::string& name = command[0];
    if (command.size() > 1) {
        // As a server does when it comes upon a key that is over.
        const auto at = keys_.find(command[1]);
        if (at != keys_.end() && at->second.end && *at->second.end <= now) {
            change(command[1], std::nullopt, nullptr);
        }
    }
    if (name == "SET") {
        return set(now, s, command);
    }
    if (name == "EVALSHA" || name == "EVAL") {
        return eval(now, s, command);
    }
    if ((name == "DELIFEQ" && has_delifeq) || (name == "DELEX" && has_delex)) {
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
    if (name == "DEL") {
        return remove(now, s, command);
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
    return unknown(command);
}

std::string model_master::hello(session& s, const words& command)
{
    if (!knows_hello) {
        std::string text = "ERR unknown command `HELLO`, with args beginning with: ";
        for (std::size_t i = 1; i < command.size(); ++i) {
            text += "`" + command[i] + "`, ";
        }
        return error(text);
    }
    if (!password.empty()) {
        if (command.size() < 5 || command[2] != "AUTH") {
            return error("NOAUTH HELLO must be called with the client already authenticated");
        }
        if (command[4] != password) {
            return error("WRONGPASS invalid username-password pair or user is disabled.");
        }
    }
    s.authenticated = true;
    s.protocol = 3;
    return "%3\r\n" + bulk("server") + bulk("redis") + bulk("proto") + integer(3) + bulk("role") +
           bulk(role);
}

std::string model_master::auth(session& s, const words& command)
{
    s.authenticated = command.back() == password;
    return s.authenticated ? std::string(ok) : error("WRONGPASS invalid username-password pair");
}

std::string model_master::client(session& s, const words& command)
{
    const std::string& what = command.at(1);
    if (what == "TRACKING") {
        if (s.protocol != 3 && command.at(2) == "ON") {
            return error(
                "ERR Client tracking can be enabled only in RESP3 mode or with a redirection");
        }
        s.tracks = command.at(2) == "ON";
        if (!s.tracks) {
            forget(s);
        }
    } else if (what == "CACHING") {
        if (!s.tracks) {
            return error(
                "ERR CLIENT CACHING can be called only when the client is in tracking mode with "
                "OPTIN or OPTOUT mode enabled");
        }
        s.tracks_next = true;
    }
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
        return "*1\r\n" + integer(scripts_.contains(command.at(2)));
    }
    const auto known = script_of(command.at(2));
    if (what != "LOAD" || !known) {
        throw std::runtime_error("a script that is none of the contract's was loaded");
    }
    const std::string_view sha1 = contract_scripts[static_cast<std::size_t>(*known)].sha1;
    scripts_.emplace(sha1);
    return bulk(sha1);
}

std::string model_master::info(const session& s) const
{
    const std::string text = "# Server\r\nredis_version:7.0.15\r\nrun_id:" + run_id +
                             "\r\n# Replication\r\nrole:" + role + "\r\n";
    if (s.protocol == 3) {
        return "=" + std::to_string(text.size() + 4) + "\r\ntxt:" + text + "\r\n";
    }
    return bulk(text);
}

std::string model_master::set(instant now, session& s, const words& command)
{
    ++sets;
    const entry* there = find(now, command.at(1));
    entry e{command.at(2), std::nullopt, false};
    for (std::size_t i = 3; i < command.size(); ++i) {
        if ((command[i] == "NX" && there != nullptr) || (command[i] == "XX" && there == nullptr)) {
            return null_of(s);
        }
        if (command[i] == "PX") {
            const std::int64_t ms = std::stoll(command.at(++i));
            if (ms <= 0) {
                return error("ERR invalid expire time in 'set' command");
            }
            e.end = now + milliseconds{ms};
        }
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
        const auto parsed = std::from_chars(e.value.data(), e.value.data() + e.value.size(), n);
        if (parsed.ec != std::errc{} || parsed.ptr != e.value.data() + e.value.size()) {
            return error("ERR value is not an integer or out of range");
        }
    }
    e.value = std::to_string(++n);
    change(key, std::move(e), &s);
    return integer(n);
}

// ---- scripts

std::string model_master::eval(instant now, session& s, const words& command)
{
    const bool by_digest = command[0] == "EVALSHA";
    if (by_digest && !scripts_.contains(command.at(1))) {
        return error("NOSCRIPT No matching script. Please use EVAL.");
    }
    const auto known = script_of(command.at(1));
    if (!known || command.at(2) != "1") {
        throw std::runtime_error("a script that is none of the contract's");
    }
    scripts_.emplace(contract_scripts[static_cast<std::size_t>(*known)].sha1);
    return run(now, s, *known, command);
}

std::string model_master::run(instant now, session& s, script which, const words& command)
{
    const std::string& key = command.at(3);
    track(s, key);  // all of them read it first
    switch (which) {
        case script::inspect: return inspect(now, s, key);
        case script::release: return compare_and_delete(now, s, key, command.at(4));
        case script::extend: break;
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

std::string model_master::inspect(instant now, const session& s, const std::string& key)
{
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    const std::string value = e == nullptr ? null_of(s) : bulk(e->value.substr(0, 64));
    return "*2\r\n" + value + integer(pttl(now, key));
}

}  // namespace redlock::test
