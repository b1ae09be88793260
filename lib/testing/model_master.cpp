#include "testing/model_master.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace redlock::testing {

using base::instant;
using namespace wire;
using std::chrono::milliseconds;

namespace {

std::string select(std::string_view database)
{
    const auto n = number<int>(database);
    if (!n) {
        return error(no_integer);
    }
    return *n >= 0 && *n < 16 ? std::string(ok) : error("ERR DB index is out of range");
}

}  // namespace

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

/// Sets a key to `to`, or deletes it if `to` is empty. `by` is the connection that caused the
/// change. `during` is the connection whose command is running.
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

/// Removes a key if it has expired. A command that names an expired key removes it first. The
/// watcher then sees no connection as the cause.
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

/// Sends one push to every connection that has read the key and can get pushes. After that, no
/// connection tracks the key.
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

/// Sends a push. Only RESP3 has pushes, so a connection with RESP2 gets none.
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
    s.begin(command.at(0));
    try {
        std::string reply = reply_to(now, s, command);
        reply += own_pushes_;
        own_pushes_.clear();
        return reply;
    } catch (...) {
        s.out += std::exchange(own_pushes_, {});
        throw;
    }
}

std::string model_master::reply_to(instant now, session& s, const words& command)
{
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
    if (name == "ROLE") {
        return "*3\r\n" + bulk(role) + integer(0) + "*0\r\n";
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
    return keyed(now, s, command);
}

/// Runs a command that names keys.
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
    if (name == "GETRANGE") {
        return get_range(now, s, command);
    }
    if (name == "ZADD") {
        return zadd(now, s, command);
    }
    if (name == "ZRANGE") {
        return zrange(now, s, command);
    }
    come_upon(now, s, command.at(1));
    if (name == "GET" || name == "PTTL" || name == "EXISTS" || name == "TYPE" || name == "ZCARD" ||
        name == "ZRANK") {
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
        return hset(now, s, command.at(1));
    }
    if (name == "TYPE") {
        return type(now, command.at(1));
    }
    if (name == "ZCARD") {
        return zcard(now, command.at(1));
    }
    if (name == "ZRANK") {
        return zrank(now, s, command);
    }
    if (name == "ZREM") {
        return zrem(now, s, command);
    }
    throw std::logic_error("the model knows this command and does not run it");
}

/// Deletes all keys. Each tracking connection gets one push, which names no key.
std::string model_master::flush_all(const session& s)
{
    tracked_.clear();
    flush_keys();
    tell_of_all(&s);
    return std::string(ok);
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
    // Errors in the arguments come first: the server looks at the key only after it has checked
    // them.
    come_upon(now, s, command.at(1));
    const bool is_there = find(now, command[1]) != nullptr;
    if ((only_new && is_there) || (only_there && !is_there)) {
        return null(s.protocol);
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
    return e == nullptr ? null(s.protocol) : bulk(e->value);
}

std::string model_master::get_range(instant now, session& s, const words& command)
{
    const std::string& key = command.at(1);
    const auto first = number<std::int64_t>(command.at(2));
    const auto last = number<std::int64_t>(command.at(3));
    const bool fits = first && last;
    if (fits) {
        come_upon(now, s, key);
    }
    track(s, key);
    if (!fits) {
        return error(no_integer);
    }
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    const std::string_view value = e == nullptr ? std::string_view() : e->value;
    const auto size = static_cast<std::int64_t>(value.size());
    // A negative index counts from the end. An index before the beginning means the beginning.
    const auto place = [&](std::int64_t n) {
        return std::max(n < 0 ? n + size : n, std::int64_t{0});
    };
    const std::int64_t from = place(*first);
    const std::int64_t to = std::min(place(*last), size - 1);
    const bool is_backwards = from > to || (*first < 0 && *last < *first);
    return bulk(is_backwards ? std::string_view()
                             : value.substr(static_cast<std::size_t>(from),
                                            static_cast<std::size_t>(to - from + 1)));
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
    return integer(set_ttl(now, s, command.at(1), milliseconds{std::stoll(command.at(2))}));
}

/// Gives a key another ttl, or deletes it if the ttl isn't positive. Returns whether it exists.
bool model_master::set_ttl(instant now, session& s, const std::string& key, milliseconds ttl)
{
    come_upon(now, s, key);
    const entry* there = find(now, key);
    if (there == nullptr) {
        return false;
    }
    if (ttl <= milliseconds{0}) {
        change(key, std::nullopt, &s);
        return true;
    }
    entry e = *there;
    e.end = now + ttl;
    change(key, std::move(e), &s);
    return true;
}

/// Sets a field of a hash. The model forgets the fields and knows only that the key is no string.
std::string model_master::hset(instant now, session& s, const std::string& key)
{
    const entry* there = find(now, key);
    if (there != nullptr && (!there->foreign_kind || !there->tickets.empty())) {
        return error(wrong_type);
    }
    const bool is_new = there == nullptr;
    change(key, is_new ? entry{{}, std::nullopt, true} : entry{*there}, &s);
    return integer(is_new);
}

std::string model_master::type(instant now, const std::string& key) const
{
    const entry* e = find(now, key);
    if (e == nullptr) {
        return "+none\r\n";
    }
    if (!e->foreign_kind) {
        return "+string\r\n";
    }
    return e->tickets.empty() ? "+hash\r\n" : "+zset\r\n";
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

}  // namespace redlock::testing
