#include "testing/contract.hpp"
#include "testing/model_master.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace redlock::testing {

using base::instant;
using namespace wire;
using std::chrono::milliseconds;

namespace {

/// A fencing counter below this value didn't begin with a date.
constexpr std::int64_t least_seeded = 1'000'000'000'000'000;

/// Whether a script can have that many keys.
bool takes(contract script, std::size_t keys)
{
    switch (script) {
        case contract::release:
        case contract::extend:
        case contract::inspect:
        case contract::count:
        case contract::label:
        case contract::queue_state: return keys == 1;
        case contract::queue:
        case contract::leave: return keys == 2;
        case contract::align:
        case contract::admit:
        case contract::take:
        case contract::extend_all:
        case contract::release_all:
        case contract::release_batch:
        case contract::extend_batch: break;
    }
    return keys != 0;
}

}  // namespace

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
        throw std::runtime_error("a client loaded a script that the contract does not have");
    }
    const std::string_view sha1 = script_for(*known).sha1;
    scripts_.emplace(sha1);
    return bulk(sha1);
}

std::string model_master::eval(instant now, session& s, const words& command)
{
    const bool by_digest = command[0] == "EVALSHA";
    if (by_digest && !scripts_.contains(command.at(1))) {
        return error("NOSCRIPT No matching script. Please use EVAL.");
    }
    const auto known = script_of(command.at(1));
    const auto keys = number<std::size_t>(command.at(2));
    if (!known || !keys || command.size() < 3 + *keys || !takes(*known, *keys)) {
        throw std::runtime_error("a script that the contract does not have");
    }
    scripts_.emplace(script_for(*known).sha1);
    return run(now, s, *known, command);
}

std::string model_master::run(instant now, session& s, script which, const words& command)
{
    const auto end_of_keys = command.begin() + 3 + number<std::ptrdiff_t>(command.at(2)).value();
    keys_of_script_.assign(command.begin() + 3, end_of_keys);
    const words& keys = keys_of_script_;
    const words args(end_of_keys, command.end());
    const std::string& key = keys.front();
    // A release of a key that doesn't exist writes nothing, so a read-only server permits it. The
    // scripts of the queue and those for several locks find out themselves whether they write.
    const bool reads_first = which == script::inspect || which == script::queue ||
                             which == script::leave || which == script::queue_state ||
                             which == script::release_batch || which == script::extend_batch;
    if (is_read_only && !reads_first &&
        (which != script::release || has(now, key, command.at(4)))) {
        return error(read_only);
    }
    switch (which) {
        case script::align: return raise(now, s, keys, args);
        case script::admit: return admit(now, s, command);
        case script::take: return take(now, s, keys, args);
        case script::extend_all: return extend_all(now, s, keys, args);
        case script::release_all: return release_all(now, s, keys, args);
        case script::label: return store_label(now, s, command);
        case script::queue: return keep_place(now, s, keys, args);
        case script::leave: return leave(now, s, keys, args);
        case script::queue_state: return queue_state(now, s, key);
        case script::release_batch: return release_batch(now, s, keys, args);
        case script::extend_batch: return extend_batch(now, s, keys, args);
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
        case script::align:
        case script::admit:
        case script::take:
        case script::extend_all:
        case script::release_all:
        case script::label:
        case script::queue:
        case script::leave:
        case script::queue_state:
        case script::release_batch:
        case script::extend_batch: break;
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

/// Stores a label. Command: EVAL text 1 key label ttl_ms
std::string model_master::store_label(instant now, session& s, const words& command)
{
    const std::string& key = command.at(3);
    constexpr std::size_t tie_size = 9;
    auto end = now + milliseconds{std::stoll(command.at(5))};
    if (const entry* e = find(now, key); e != nullptr) {
        const std::size_t digits = e->value.find_first_not_of("0123456789abcdefABCDEF");
        if (e->foreign_kind || digits != tie_size - 1 || e->value[digits] != ' ') {
            return integer(0);
        }
        end = e->end ? std::max(end, *e->end) : end;
    }
    if (is_full) {
        return error(no_memory);
    }
    change(key, entry{command.at(4), end, false}, &s);
    return integer(1);
}

/// Counts up a fencing counter. Command: EVALSHA sha1 1 counter seed slack_us ttl_ms
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
    const std::string value = e == nullptr ? null(s.protocol) : bulk(e->value.substr(0, 64));
    return "*2\r\n" + value + integer(pttl(now, key));
}

/// Admits a node. A full server refuses only the script's first write, so the reads before it run.
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
        return null(s.protocol);
    }
    if (is_full) {
        return error(no_memory);
    }
    const std::string dated = command.at(6) + std::to_string(date(now));
    change(marker, entry{dated, std::nullopt, false}, &s);
    change(pending, std::nullopt, &s);
    return bulk(dated);
}

}  // namespace redlock::testing
