#include "model_master.hpp"

#include "resp/scripts.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>

namespace redlock::test {
namespace {

using base::instant;
using std::chrono::milliseconds;

constexpr std::array scripts{&resp::release_script, &resp::extend_script, &resp::inspect_script};

const resp::script* script_by(std::string_view sha1, std::string_view text)
{
    for (const resp::script* s : scripts) {
        if (s->sha1 == sha1 || s->text == text) {
            return s;
        }
    }
    return nullptr;
}

std::size_t take_count(std::string_view& bytes, char mark)
{
    const std::size_t end = bytes.find("\r\n");
    if (bytes.empty() || bytes.front() != mark || end == std::string_view::npos) {
        throw std::runtime_error("what was written is no command");
    }
    std::size_t count = 0;
    const auto parsed = std::from_chars(bytes.data() + 1, bytes.data() + end, count);
    if (parsed.ptr != bytes.data() + end) {
        throw std::runtime_error("what was written has no length");
    }
    bytes.remove_prefix(end + 2);
    return count;
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

constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

}  // namespace

std::vector<words> parse_commands(std::string_view bytes)
{
    std::vector<words> commands;
    while (!bytes.empty()) {
        words w(take_count(bytes, '*'));
        for (std::string& word : w) {
            const std::size_t size = take_count(bytes, '$');
            word = bytes.substr(0, size);
            if (bytes.substr(size, 2) != "\r\n") {
                throw std::runtime_error("a word that was written does not end");
            }
            bytes.remove_prefix(size + 2);
        }
        commands.push_back(std::move(w));
    }
    return commands;
}

const model_master::entry* model_master::find(instant now, const std::string& key) const
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
    std::size_t alive = 0;
    for (const auto& [key, e] : keys_) {
        alive += find(now, key) != nullptr ? 1u : 0u;
    }
    return alive;
}

std::int64_t model_master::pttl(instant now, const std::string& key) const
{
    const entry* e = find(now, key);
    if (e == nullptr) {
        return -2;
    }
    return e->end ? std::chrono::floor<milliseconds>(*e->end - now).count() : -1;
}

std::string model_master::execute(instant now, session& s, const words& command)
{
    ++commands;
    const std::string& name = command.at(0);
    const std::string both = command.size() > 1 ? name + " " + command[1] : name;
    for (const std::string& known : {name, both}) {
        if (const auto refused = refusals.find(known); refused != refusals.end()) {
            return error(refused->second);
        }
    }
    if (name == "HELLO") {
        return hello(s, command);
    }
    if (name == "AUTH") {
        return auth(s, command);
    }
    if (!password.empty() && !s.authenticated) {
        return error("NOAUTH Authentication required.");
    }
    if (name == "SET") {
        return set(now, command);
    }
    if (name == "EVALSHA" || name == "EVAL") {
        return eval(now, s, command);
    }
    if ((name == "DELIFEQ" && has_delifeq) || (name == "DELEX" && has_delex)) {
        return compare_and_delete(now, command.at(1), command.back());
    }
    if (name == "PTTL") {
        return integer(pttl(now, command.at(1)));
    }
    if (name == "PING") {
        return "+PONG\r\n";
    }
    if (name == "CLIENT" || name == "SELECT") {
        return "+OK\r\n";
    }
    if (both == "SCRIPT LOAD") {
        const resp::script* known = script_by({}, command.at(2));
        if (known == nullptr) {
            throw std::runtime_error("an unknown script was loaded");
        }
        scripts_.emplace(known->sha1);
        return bulk(known->sha1);
    }
    if (both == "COMMAND INFO") {
        const std::string known = "*2\r\n$1\r\nx\r\n:3\r\n";
        return "*2\r\n" + (has_delifeq ? known : null_of(s)) + (has_delex ? known : null_of(s));
    }
    return error("ERR unknown command '" + name + "', with args beginning with: ");
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
    return s.authenticated ? "+OK\r\n" : error("WRONGPASS invalid username-password pair");
}

std::string model_master::set(instant now, const words& command)
{
    if (command.size() != 6 || command[3] != "NX" || command[4] != "PX") {
        throw std::runtime_error("a SET that is none of ours");
    }
    ++sets;
    if (find(now, command[1]) != nullptr) {
        return "$-1\r\n";  // in RESP3 a null is sent; both are to be understood on either
    }
    keys_[command[1]] = {command[2], now + milliseconds{std::stoll(command[5])}};
    return "+OK\r\n";
}

std::string model_master::eval(instant now, session& s, const words& command)
{
    const bool by_digest = command[0] == "EVALSHA";
    if (by_digest && !scripts_.contains(command.at(1))) {
        return error("NOSCRIPT No matching script. Please use EVAL.");
    }
    const resp::script* known = by_digest ? script_by(command[1], {}) : script_by({}, command[1]);
    if (known == nullptr || command.at(2) != "1") {
        throw std::runtime_error("a script that is none of ours");
    }
    scripts_.emplace(known->sha1);
    return run(now, s, known->text, command);
}

std::string model_master::run(instant now, const session& s, std::string_view text,
                              const words& command)
{
    const std::string& key = command.at(3);
    if (text == resp::inspect_script.text) {
        return inspect(now, s, key);
    }
    if (text == resp::release_script.text) {
        return compare_and_delete(now, key, command.at(4));
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
        keys_[key].end = now + ttl;
    }
    return integer(1);
}

std::string model_master::compare_and_delete(instant now, const std::string& key,
                                             const std::string& token)
{
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    const bool ours = e != nullptr && e->value == token;
    if (ours) {
        keys_.erase(key);
    }
    return integer(ours ? 1 : 0);
}

std::string model_master::inspect(instant now, const session& s, const std::string& key)
{
    const entry* e = find(now, key);
    if (e != nullptr && e->foreign_kind) {
        return error(wrong_type);
    }
    return "*2\r\n" + (e == nullptr ? null_of(s) : bulk(e->value)) + integer(pttl(now, key));
}

}  // namespace redlock::test
