#include "testing/model_master.hpp"
#include "testing/wire.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

// Sorted sets, and the scripts for the queue of the clients that wait for a lock.
namespace redlock::testing {

using namespace wire;
using base::instant;
using std::chrono::milliseconds;

namespace {

/// No number of a ticket is that high.
constexpr double beyond_numbers = 9'007'199'254'740'991;
/// The largest number of tickets that one run of the script removes, and of those after the first
/// one whose keys it shortens.
constexpr std::size_t most_tickets = 100;
constexpr milliseconds shortened{1000};
/// The longest age that the script for the queue's state returns, in milliseconds.
constexpr double longest_age = 1e15;

std::string key_of(const std::string& lock, std::string_view ticket)
{
    return lock + ":" + std::string(ticket) + ":redlock:ticket";
}

}  // namespace

// Sorted sets.

bool model_master::has_no_tickets(instant now, const std::string& key) const
{
    const entry* e = find(now, key);
    return e != nullptr && e->tickets.empty();
}

std::span<const model_master::ticket> model_master::tickets(instant now,
                                                            const std::string& key) const
{
    const entry* e = find(now, key);
    return e == nullptr ? std::span<const ticket>() : std::span<const ticket>(e->tickets);
}

/// Adds a member, or changes its score. Members with equal scores have the order of their names.
void model_master::add_ticket(instant now, session& s, const std::string& queue, ticket t)
{
    const entry* there = find(now, queue);
    entry e = there == nullptr ? entry{{}, std::nullopt, true} : *there;
    std::erase_if(e.tickets, [&](const ticket& each) { return each.name == t.name; });
    const auto place = std::ranges::find_if(e.tickets, [&](const ticket& each) {
        return std::tie(each.number, each.name) > std::tie(t.number, t.name);
    });
    e.tickets.insert(place, std::move(t));
    change(queue, std::move(e), &s);
}

/// Removes a member, and with the last member the key. Returns whether the member was there.
bool model_master::remove_ticket(instant now, session& s, const std::string& queue,
                                 std::string_view name)
{
    const auto all = tickets(now, queue);
    if (std::ranges::find(all, name, &ticket::name) == all.end()) {
        return false;
    }
    if (all.size() == 1) {
        change(queue, std::nullopt, &s);
        return true;
    }
    entry e = *find(now, queue);
    std::erase_if(e.tickets, [&](const ticket& each) { return each.name == name; });
    change(queue, std::move(e), &s);
    return true;
}

/// Adds one member. Command: ZADD key score member
std::string model_master::zadd(instant now, session& s, const words& command)
{
    if (command.size() != 4) {
        throw std::runtime_error("ZADD with options or several members, which no test needs");
    }
    const std::string& key = command[1];
    const auto score = number<double>(command[2]);
    if (!score) {
        return error("ERR value is not a valid float");
    }
    come_upon(now, s, key);
    if (has_no_tickets(now, key)) {
        return error(wrong_type);
    }
    const auto all = tickets(now, key);
    const auto there = std::ranges::find(all, command[3], &ticket::name);
    const bool is_new = there == all.end();
    if (is_new || there->number != *score) {
        add_ticket(now, s, key, {*score, command[3]});
    }
    return integer(is_new);
}

/// Lists members. Command: ZRANGE key first last
std::string model_master::zrange(instant now, session& s, const words& command)
{
    if (command.size() != 4) {
        throw std::runtime_error("ZRANGE with options, which no test needs");
    }
    const std::string& key = command[1];
    const auto first = number<std::int64_t>(command[2]);
    const auto last = number<std::int64_t>(command[3]);
    if (first && last) {
        come_upon(now, s, key);
    }
    track(s, key);
    if (!first || !last) {
        return error(no_integer);
    }
    if (has_no_tickets(now, key)) {
        return error(wrong_type);
    }
    const auto all = tickets(now, key);
    const auto size = static_cast<std::int64_t>(all.size());
    const std::int64_t from = std::max<std::int64_t>(*first < 0 ? *first + size : *first, 0);
    const std::int64_t to = std::min(*last < 0 ? *last + size : *last, size - 1);
    std::string members;
    for (std::int64_t i = from; i <= to; ++i) {
        members += bulk(all[static_cast<std::size_t>(i)].name);
    }
    return "*" + std::to_string(std::max<std::int64_t>(to - from + 1, 0)) + "\r\n" + members;
}

/// Returns how many members are before one. Command: ZRANK key member
std::string model_master::zrank(instant now, const session& s, const words& command) const
{
    if (has_no_tickets(now, command.at(1))) {
        return error(wrong_type);
    }
    const auto all = tickets(now, command[1]);
    const auto there = std::ranges::find(all, command.at(2), &ticket::name);
    return there == all.end() ? null(s.protocol) : integer(there - all.begin());
}

/// Removes members. Command: ZREM key member...
std::string model_master::zrem(instant now, session& s, const words& command)
{
    if (has_no_tickets(now, command.at(1))) {
        return error(wrong_type);
    }
    std::int64_t removed = 0;
    for (const std::string& name : std::span(command).subspan(2)) {
        removed += remove_ticket(now, s, command[1], name) ? 1 : 0;
    }
    return integer(removed);
}

std::string model_master::zcard(instant now, const std::string& key) const
{
    return has_no_tickets(now, key) ? error(wrong_type)
                                    : integer(static_cast<std::int64_t>(tickets(now, key).size()));
}

// The scripts of the queue.

/// Gives a ticket a place, or keeps its place. Arguments: ticket ttl_ms number before
std::string model_master::keep_place(instant now, session& s, const words& keys, const words& args)
{
    const std::string& lock = keys.at(0);
    const std::string& queue = keys.at(1);
    const std::string& name = args.at(0);
    const std::string& ttl_ms = args.at(1);
    const milliseconds ttl{number<std::int64_t>(ttl_ms).value()};
    const std::string own_key = key_of(lock, name);
    const auto place = [&] {
        read(now, s, queue);
        const auto all = tickets(now, queue);
        return static_cast<std::size_t>(std::ranges::find(all, name, &ticket::name) - all.begin());
    };
    read(now, s, lock);
    const std::int64_t lock_ttl = pttl(now, lock);
    std::size_t before = place();
    if (has_no_tickets(now, queue)) {
        return error(wrong_type);
    }
    const bool is_new = before == tickets(now, queue).size();
    double own_number = number<double>(args.at(2)).value();
    if (!is_new) {
        read(now, s, queue);
        own_number = tickets(now, queue)[before].number;
    } else if (own_number == 0) {
        own_number = new_number(now, s, queue);
    }
    if (is_read_only) {
        return error(read_only);
    }
    // A server checks its memory before the first write of a script, and PEXPIRE takes none.
    if (is_new && is_full) {
        return error(no_memory);
    }
    if (is_new) {
        put_ticket_key(now, s, own_key, ttl_ms);
    }
    const bool has_ttl = set_ttl(now, s, queue, 2 * ttl);
    if (is_new) {
        add_ticket(now, s, queue, {own_number, name});
        before = place();
        if (!has_ttl) {
            set_ttl(now, s, queue, 2 * ttl);
        }
    } else {
        read(now, s, own_key);
        if (2 * pttl(now, own_key) < ttl.count()) {
            put_ticket_key(now, s, own_key, ttl_ms);
        }
    }
    if (lock_ttl == -2 && before > 0 && before == number<std::size_t>(args.at(3)).value()) {
        shorten_earlier(now, s, keys, before);
    }
    std::string nearest;
    std::size_t removed = 0;
    while (before > 0 && removed < most_tickets) {
        read(now, s, queue);
        std::string last = tickets(now, queue)[before - 1].name;
        const std::string key = key_of(lock, last);
        read(now, s, key);
        if (find(now, key) != nullptr) {
            nearest = std::move(last);
            break;
        }
        remove_ticket(now, s, queue, last);
        ++removed;
        --before;
    }
    return "*5\r\n" + integer(static_cast<std::int64_t>(before)) + bulk(nearest) +
           integer(lock_ttl) + integer(static_cast<std::int64_t>(own_number)) +
           integer(static_cast<std::int64_t>(removed));
}

/// Returns the number of a ticket that goes to the end of the queue.
double model_master::new_number(instant now, session& s, const std::string& queue)
{
    read(now, s, queue);
    const auto all = tickets(now, queue);
    const auto today = static_cast<double>(date(now));
    const double last = all.empty() ? 0 : all.back().number;
    return last < beyond_numbers ? std::max(today, last + 1) : today;
}

void model_master::put_ticket_key(instant now, session& s, const std::string& key,
                                  const std::string& ttl_ms)
{
    come_upon(now, s, key);
    const milliseconds ttl{number<std::int64_t>(ttl_ms).value()};
    change(key, entry{{}, now + ttl, false}, &s);
}

/// Deletes the key of the first ticket, and shortens the ttl of the keys of other tickets before a
/// place.
void model_master::shorten_earlier(instant now, session& s, const words& keys, std::size_t before)
{
    read(now, s, keys.at(1));
    words earlier;
    for (const ticket& each : tickets(now, keys[1]).first(std::min(before, most_tickets + 1))) {
        earlier.push_back(key_of(keys.at(0), each.name));
    }
    remove(now, s, {"DEL", earlier.at(0)});
    for (const std::string& key : std::span(earlier).subspan(1)) {
        read(now, s, key);
        const std::int64_t left = pttl(now, key);
        if (left == -1 || left > shortened.count()) {
            set_ttl(now, s, key, shortened);
        }
    }
}

/// Removes a ticket. Arguments: ticket
std::string model_master::leave(instant now, session& s, const words& keys, const words& args)
{
    const std::string& queue = keys.at(1);
    const std::string& name = args.at(0);
    if (!name.empty()) {
        if (is_read_only) {
            return error(read_only);
        }
        come_upon(now, s, queue);
        if (has_no_tickets(now, queue)) {
            return error(wrong_type);
        }
        remove_ticket(now, s, queue, name);
        remove(now, s, {"DEL", key_of(keys.at(0), name)});
    }
    read(now, s, queue);
    return zcard(now, queue);
}

/// Returns how many tickets there are, and the age of the first one.
std::string model_master::queue_state(instant now, session& s, const std::string& queue)
{
    read(now, s, queue);
    if (has_no_tickets(now, queue)) {
        return error(wrong_type);
    }
    const auto all = tickets(now, queue);
    if (all.empty()) {
        return "*2\r\n" + integer(0) + integer(-1);
    }
    const double age = (static_cast<double>(date(now)) - all.front().number) / 1000;
    return "*2\r\n" + integer(static_cast<std::int64_t>(all.size())) +
           integer(static_cast<std::int64_t>(std::clamp(age, 0.0, longest_age)));
}

}  // namespace redlock::testing
