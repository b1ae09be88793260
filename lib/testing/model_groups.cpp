#include "testing/model_master.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

// The scripts for any number of keys.
namespace redlock::testing {

using namespace wire;
using base::instant;
using std::chrono::milliseconds;

namespace {

/// The largest integer that a script can represent exactly.
constexpr std::int64_t largest_counter = 9'007'199'254'740'989;

std::int64_t as_number(const std::string& text)
{
    return number<std::int64_t>(text).value();
}

}  // namespace

/// The state of the fencing counters of a script's resources.
struct model_master::counted {
    std::int64_t highest = 0;
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    bool is_new = false;
    bool is_no_number = false;
    bool is_foreign = false;
};

/// Reads a key inside a script, for tracking too. Before Redis 7.2, a script that reads one key
/// counts as having read all of its keys.
void model_master::read(instant now, session& s, const std::string& key)
{
    come_upon(now, s, key);
    if (!tracks_whole_scripts) {
        track(s, key);
        return;
    }
    for (const std::string& one : keys_of_script_) {
        track(s, one);
    }
}

bool model_master::has(instant now, const std::string& key, std::string_view value) const
{
    const entry* e = find(now, key);
    return e != nullptr && !e->foreign_kind && e->value == value;
}

model_master::counted model_master::read_counters(instant now, session& s,
                                                  std::span<const std::string> keys,
                                                  std::int64_t least)
{
    counted result;
    for (const std::string& key : keys) {
        read(now, s, key);
        const entry* e = find(now, key);
        result.is_foreign = e != nullptr && e->foreign_kind;
        const auto value =
            e == nullptr ? std::optional<std::int64_t>(0) : number<std::int64_t>(e->value);
        result.is_no_number = !value;
        if (result.is_foreign || result.is_no_number) {
            return result;
        }
        result.is_new = result.is_new || *value < least;
        result.highest = std::max(result.highest, *value);
        result.lowest = std::min(result.lowest, *value);
    }
    return result;
}

void model_master::write_counters(instant now, session& s, std::span<const std::string> keys,
                                  std::int64_t value, const std::string& ttl_ms)
{
    for (const std::string& key : keys) {
        change(key, entry{std::to_string(value), now + milliseconds{as_number(ttl_ms)}, false}, &s);
    }
}

/// Aligns counters. Arguments: token value date_us slack_us ttl_ms least
std::string model_master::raise(instant now, session& s, const words& keys, const words& args)
{
    const std::span all(keys);
    for (const std::string& lock : all.first(all.size() / 2)) {
        read(now, s, lock);
        if (!has(now, lock, args.at(0))) {
            return integer(0);
        }
    }
    const auto counters = all.subspan(all.size() / 2);
    const counted known = read_counters(now, s, counters, as_number(args.at(5)));
    if (known.is_foreign) {
        return error(wrong_type);
    }
    if (known.is_no_number) {
        return integer(-1);
    }
    const std::int64_t today = date(now);
    const std::int64_t slack = as_number(args.at(3));
    const std::int64_t highest = std::max<std::int64_t>(known.highest, 1);
    std::int64_t value = as_number(args.at(1));
    if (known.is_new) {
        const std::int64_t least =
            std::clamp(as_number(args.at(2)), today - slack / 2, today + slack / 2);
        value = value > today + slack ? least : std::max(value, least);
    }
    if (value > today + slack || value <= highest) {
        return integer(-highest);
    }
    if (is_full) {
        return error(no_memory);
    }
    write_counters(now, s, counters, value, args.at(4));
    return integer(value);
}

/// Takes several keys. Arguments: token ttl_ms locks seed_us slack_us counter_ttl_ms least
std::string model_master::take(instant now, session& s, const words& keys, const words& args)
{
    const std::span all(keys);
    const auto size = number<std::size_t>(args.at(2)).value();
    const auto locks = all.first(size);
    const auto counters = all.subspan(size);
    for (std::size_t i = 0; i < size; ++i) {
        read(now, s, locks[i]);
        if (find(now, locks[i]) != nullptr) {
            return "*2\r\n" + integer(static_cast<std::int64_t>(i) + 1) +
                   integer(pttl(now, locks[i]));
        }
    }
    std::int64_t value = 0;
    if (!counters.empty()) {
        const counted known = read_counters(now, s, counters, as_number(args.at(6)));
        if (known.is_foreign) {
            return error(wrong_type);
        }
        if (known.is_no_number) {
            return error("ERR a fencing counter is no number");
        }
        const std::int64_t seed = as_number(args.at(3));
        const std::int64_t today = date(now);
        const std::int64_t slack = as_number(args.at(4));
        value = known.highest + 1;
        if (known.is_new && seed > 0) {
            value = std::max(value, std::clamp(seed, today - slack / 2, today + slack / 2));
        }
        const bool takes_along = value > today + slack && known.lowest <= today + slack;
        if ((known.is_new && seed == 0) || takes_along) {
            value = 1;
        } else if (value > largest_counter) {
            return error("ERR a fencing counter is at its end");
        } else if (is_full) {
            return error(no_memory);
        } else {
            write_counters(now, s, counters, value, args.at(5));
        }
    }
    if (is_full) {
        return error(no_memory);
    }
    for (const std::string& lock : locks) {
        ++sets;
        change(lock, entry{args.at(0), now + milliseconds{as_number(args.at(1))}, false}, &s);
    }
    return "*2\r\n" + integer(0) + integer(value);
}

/// Extends several keys. Arguments: token ttl_ms
std::string model_master::extend_all(instant now, session& s, const words& keys, const words& args)
{
    for (std::size_t i = 0; i < keys.size(); ++i) {
        read(now, s, keys[i]);
        if (!has(now, keys[i], args.at(0))) {
            return integer(-static_cast<std::int64_t>(i));
        }
    }
    const milliseconds ttl{as_number(args.at(1))};
    for (const std::string& key : keys) {
        read(now, s, key);
        if (pttl(now, key) < ttl.count()) {
            change(key, entry{args.at(0), now + ttl, false}, &s);
        }
    }
    return integer(1);
}

/// Releases several keys. Arguments: token
std::string model_master::release_all(instant now, session& s, const words& keys, const words& args)
{
    bool all = true;
    for (const std::string& key : keys) {
        read(now, s, key);
        if (has(now, key, args.at(0))) {
            change(key, std::nullopt, &s);
        } else {
            all = false;
        }
    }
    return integer(all ? 1 : 0);
}

/// Releases several locks. Arguments: a token for each
std::string model_master::release_batch(instant now, session& s, const words& keys,
                                        const words& args)
{
    return write_batch(now, s, keys, args,
                       [&](std::size_t i) { change(keys[i], std::nullopt, &s); });
}

/// Extends several locks. Arguments: a token for each, a ttl_ms for each
std::string model_master::extend_batch(instant now, session& s, const words& keys,
                                       const words& args)
{
    return write_batch(now, s, keys, args, [&](std::size_t i) {
        const milliseconds ttl{as_number(args.at(keys.size() + i))};
        if (pttl(now, keys[i]) < ttl.count()) {
            change(keys[i], entry{args.at(i), now + ttl, false}, &s);
        }
    });
}

/// Calls `write` for each key that has its token. A read-only server refuses the first write.
template <class Write>
std::string model_master::write_batch(instant now, session& s, const words& keys, const words& args,
                                      Write write)
{
    if (refusals.contains("MGET")) {
        return error("ERR The user executing the script can't run this command or subcommand");
    }
    // MGET tracks its keys after it has read all of them.
    std::vector<bool> ours;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        come_upon(now, s, keys[i]);
        ours.push_back(has(now, keys[i], args.at(i)));
    }
    for (const std::string& key : keys) {
        track(s, key);
    }
    if (is_read_only && std::ranges::find(ours, true) != ours.end()) {
        return error(read_only);
    }
    std::string told;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (ours[i]) {
            write(i);
        }
        told += ours[i] ? '1' : '0';
    }
    return bulk(told);
}

}  // namespace redlock::testing
