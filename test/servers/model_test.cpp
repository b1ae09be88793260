#include "support/locks.hpp"
#include "support/resp_client.hpp"
#include "support/resp_text.hpp"
#include "support/run.hpp"
#include "support/server.hpp"
#include "support/virtual/model_master.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// Indices of the scripts in the contract.
constexpr std::size_t align_script = 4;
constexpr std::size_t admit_script = 5;
constexpr std::size_t take_script = 6;
constexpr std::size_t extend_all_script = 7;
constexpr std::size_t release_all_script = 8;
constexpr std::size_t queue_script = 10;
constexpr std::size_t leave_script = 11;
constexpr std::size_t queue_state_script = 12;
constexpr std::size_t release_batch_script = 13;
constexpr std::size_t extend_batch_script = 14;

using clock_type = std::chrono::steady_clock;

/// Removes words that only one kind or version of server adds.
std::string wording(std::string text)
{
    for (const std::string_view addition : {" script: ", " Please use EVAL", ", otherwise the"}) {
        text.erase(std::min(text.size(), text.find(addition)));
    }
    if (const auto at = text.find("Valkey is loading"); at != std::string::npos) {
        text.replace(at, 6, "Redis");
    }
    return text;
}

/// A text without the date at the end of a marker, and the date. The date is 0 if the text has
/// none.
std::pair<std::string, std::int64_t> split_date(const std::string& text)
{
    constexpr std::string_view since = " since=";
    const auto at = text.find(since);
    if (at == std::string::npos || at + since.size() == text.size()) {
        return {text, 0};
    }
    return {text.substr(0, at), std::stoll(text.substr(at + since.size()))};
}

/// The command's name in a server's statistics: `client|setname`, `get`.
std::string counted_as(const words& command)
{
    std::string name = command.at(0);
    if (name == "CLIENT" || name == "SCRIPT" || name == "COMMAND") {
        name += "|" + command.at(1);
    }
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
}

/// The value of a field of INFO.
std::string told(std::string_view info, std::string_view field)
{
    const std::size_t at = info.find("\n" + std::string(field) + ":");
    REQUIRE(at != std::string_view::npos);
    info.remove_prefix(at + field.size() + 2);
    return std::string(info.substr(0, info.find('\r')));
}

/// The names of the fields of INFO.
std::vector<std::string> fields_of(std::string_view info)
{
    std::vector<std::string> fields;
    for (const auto line : std::views::split(info, std::string_view("\r\n"))) {
        const std::string_view text(line.begin(), line.end());
        const std::size_t end = text.find(':');
        if (end != text.npos && text.find('#') == text.npos) {
            fields.emplace_back(text.substr(0, end));
        }
    }
    return fields;
}

bool is_run_id(std::string_view text)
{
    return text.size() == 40 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// One real server and one model with as many connections. Both get the same commands.
class pair_of_masters {
public:
    pair_of_masters(server& real, std::uint32_t seed) : random_(seed), real_(real)
    {
        for (std::size_t i = 0; i < connections; ++i) {
            ends_.push_back(
                {std::make_unique<resp_client>(real_.socket()), std::make_unique<session>()});
        }
        const std::string info = real_.ask({"INFO", "server"}).text;
        const std::string version = told(info, "redis_version");
        model_.tracks_whole_scripts = version.starts_with("6.") || version.starts_with("7.0.");
        model_.hides_commands = info.find("\nvalkey_version:9.") != info.npos;
        const reply own = real_.ask({"COMMAND", "INFO", "delifeq", "delex"});
        model_.has_delifeq = !own.items.at(0).items.empty();
        model_.has_delex = !own.items.at(1).items.empty();
        // The server looks for expired keys only on request, and then at once.
        (void)real_.ask({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
        (void)real_.ask({"CONFIG", "SET", "hz", "500"});
    }

    static constexpr std::size_t connections = 3;

    /// Commands of the real server that carry another command's name there.
    std::set<std::string> stand_ins;

    [[nodiscard]] model_master& model() noexcept { return model_; }
    [[nodiscard]] std::size_t pushes() const noexcept { return pushes_; }
    [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
    /// The compared commands, under their names in a server's statistics.
    [[nodiscard]] const std::set<std::string>& asked() const noexcept { return asked_; }

    /// At first two connections speak RESP3, and one of them gets pushes. The third one speaks
    /// RESP2.
    void greet()
    {
        same(0, {"HELLO", "3"});
        same(1, {"HELLO", "3"});
        same(0, {"CLIENT", "TRACKING", "ON", "OPTIN"});
    }

    void step()
    {
        const std::size_t who = below(connections);
        if (below(2) == 0) {
            same(who, {"CLIENT", "CACHING", "YES"});
        }
        switch (below(12)) {
            case 0: talk_of_oneself(who); return;
            case 1: use_scripts(who); return;
            case 2: let_one_expire(who, below(2) == 0 ? any_key() : counter_of(any_key())); return;
            case 3: turn_memory(); return;
            case 4:
            case 5: use_a_counter(who, any_key()); return;
            case 6: use_a_group(who); return;
            case 7:
            case 8: use_a_queue(who); return;
            default: use_a_key(who, any_key()); return;
        }
    }

    /// A step that uses the queue of a lock, or the lock itself.
    void queue_step()
    {
        const std::size_t who = below(connections);
        if (below(3) == 0) {
            same(who, {"CLIENT", "CACHING", "YES"});
        }
        switch (below(30)) {
            case 0: turn_memory(); return;
            case 1: turn_tracking(who); return;
            case 2:
            case 3: use_a_key(who, any_key()); return;
            default: use_a_queue(who); return;
        }
    }

    /// Gives a ticket a place, and compares the whole queue afterwards.
    void keep_place(std::size_t who, const std::string& key, const std::string& ticket,
                    const std::string& number, bool stands_still)
    {
        (void)set_dates();
        clock_decides_ = true;
        const auto began = now();
        same(who,
             {below(4) == 0 ? "EVAL" : "EVALSHA",
              {},
              "2",
              key,
              queue_of(key),
              ticket,
              "1000000",
              number,
              stands_still ? "1" : "0"},
             queue_script);
        prolong_shortened(began, key);
        compare_queue(key);
        clock_decides_ = false;
    }

    /// Compares a command that sets or returns a date of the server.
    void same_dated(std::size_t who, const words& command)
    {
        (void)set_dates();
        clock_decides_ = true;
        same(who, command);
        clock_decides_ = false;
    }

    void set_full(bool is_full)
    {
        model_.is_full = is_full;
        model_.maxmemory = is_full ? "1" : "0";
        (void)real_.ask({"CONFIG", "SET", "maxmemory", model_.maxmemory});
    }

    /// Sends a command to both, and compares all replies and pushes.
    void same(std::size_t who, const words& command)
    {
        // Servers close a connection without a login instead of reading that many words.
        constexpr std::size_t most_words_of_a_stranger = 10;
        const bool is_stranger = !model_.password.empty() && !ends_[who].model->authenticated;
        if (is_stranger && command.size() > most_words_of_a_stranger) {
            return;
        }
        std::string text;
        for (const std::string& w : command) {
            text += w.substr(0, 20) + " ";
        }
        CAPTURE(who, text);
        asked_.insert(counted_as(command));
        const auto before = now();
        const reply real = ends_[who].real->ask(command);
        slowest_ = std::max(slowest_, now() - before);
        std::string modelled = model_.execute(before, *ends_[who].model, command);
        const auto first = parse_reply(modelled);
        REQUIRE(first);
        compare(command, real, first->value);
        modelled.erase(0, first->size);
        ends_[who].model->out.insert(0, modelled);
        for (end& e : ends_) {
            compare_pushes(e);
        }
    }

private:
    struct end {
        std::unique_ptr<resp_client> real;
        std::unique_ptr<session> model;
    };

    std::uint32_t below(std::size_t n)
    {
        return static_cast<std::uint32_t>(random_()) % static_cast<std::uint32_t>(n);
    }

    [[nodiscard]] base::instant now() const
    {
        return base::instant{} + 1000h + (clock_type::now() - began_);
    }

    std::string any_key() { return "k" + std::to_string(below(3)); }
    std::string any_password()
    {
        return below(3) == 0 && !model_.password.empty() ? model_.password : "any";
    }
    std::string any_value() { return below(2) == 0 ? "mine" : "theirs"; }
    /// An index for GETRANGE: before, within or after any value, or no number.
    std::string any_place() { return std::array{"-9", "-2", "0", "1", "9", "x"}[below(6)]; }
    /// A script of those for release, extend and inspect, which take the same arguments.
    std::string any_alike() { return std::string(contract_scripts[below(3)].text); }
    std::string any_sha1() { return sha1(below(contract_scripts.size())); }
    std::string any_script() { return text_of(below(contract_scripts.size())); }

    /// A ttl that is certainly longer, or shorter, than the rest of any key's ttl.
    std::string longer_or_shorter()
    {
        longest_ += 1000;
        return std::to_string(below(2) == 0 ? longest_ : 500'000);
    }

    void use_a_key(std::size_t who, const std::string& key)
    {
        const std::string value = any_value();
        switch (below(19)) {
            case 0: same(who, {"SET", key, value, "NX", "PX", "1000000"}); return;
            case 1: same(who, {"SET", key, value, "NX", "PX", "2000000"}); return;
            case 2: same(who, {"SET", key, value, "XX", "PX", "1000000"}); return;
            case 3: same(who, {"SET", key, value, "NX", "PX", below(2) == 0 ? "0" : "x"}); return;
            case 4: same(who, {"EVALSHA", sha1(0), "1", key, value}); return;
            case 5: same(who, {"EVALSHA", sha1(1), "1", key, value, longer_or_shorter()}); return;
            case 6: same(who, {"EVALSHA", sha1(2), "1", key}); return;
            case 7: same(who, {"EVAL", any_alike(), "1", key, value, longer_or_shorter()}); return;
            case 8: same(who, {"PTTL", key}); return;
            case 9: same(who, {"GET", key}); return;
            case 10: same(who, {"EXISTS", key}); return;
            case 11: same(who, {"DEL", key}); return;
            case 12: same(who, {"DEL", "k0", "k1", "k2"}); return;
            case 13: same(who, {"PEXPIRE", key, below(3) == 0 ? "-1" : "900000"}); return;
            case 14: same(who, {"HSET", key, "f", "v"}); return;
            case 15: same(who, {"INCR", below(2) == 0 ? key : "counter"}); return;
            case 16: same(who, {"DELIFEQ", key, value}); return;
            case 17: same(who, {"DELEX", key, "IFEQ", std::string(200, 'v')}); return;
            case 18: same(who, {"GETRANGE", key, any_place(), any_place()}); return;
        }
    }

    void use_a_counter(std::size_t who, const std::string& key)
    {
        const std::string counter = counter_of(key);
        switch (below(8)) {
            case 0: same(who, {"INCR", counter}); return;
            case 1: same(who, {"HSET", counter, "f", "v"}); return;
            case 2:
                same(who, {"SET", counter,
                           std::array{"1000000000000000", "none", "8000000000000000"}[below(3)],
                           "NX", "PX", "900000"});
                return;
            case 3: same(who, {"DEL", counter}); return;
            case 4:
            case 5: count_with(who, counter); break;
            default: raise(who, {key}); break;
        }
        take_over(counter);
        clock_decides_ = false;
    }

    /// The date, or one so far off that the script limits it by the server's clock.
    std::int64_t near_or_far(std::int64_t today)
    {
        const std::int64_t far = 2 * slack_us;
        const std::int64_t date = today + std::array{std::int64_t{0}, -far, far}[below(3)];
        clock_decides_ = date != today;
        return date;
    }

    void count_with(std::size_t who, const std::string& counter)
    {
        const std::int64_t today = set_dates();
        const std::int64_t seed = below(4) == 0 ? 0 : near_or_far(today);
        same(who,
             {below(4) == 0 ? "EVAL" : "EVALSHA",
              {},
              "1",
              counter,
              std::to_string(seed),
              std::to_string(slack_us),
              "1000000"},
             3);
    }

    void raise(std::size_t who, const std::vector<std::string>& keys)
    {
        const std::int64_t today = set_dates();
        const std::int64_t value = below(2) == 0 ? near(counter_of(keys[0])) : near_or_far(today);
        const std::int64_t date = near_or_far(today);
        of_all(who, align_script, keys, true,
               {any_value(), std::to_string(value), std::to_string(date), std::to_string(slack_us),
                "1000000", any_least(today, counter_of(keys[0]))});
    }

    /// Some of the keys, in any order.
    std::vector<std::string> some_keys()
    {
        std::vector<std::string> keys{"k0", "k1", "k2"};
        std::ranges::shuffle(keys, random_);
        keys.resize(1 + below(3));
        return keys;
    }

    std::vector<std::string> any_values(std::size_t count)
    {
        std::vector<std::string> all;
        std::generate_n(std::back_inserter(all), count, [this] { return any_value(); });
        return all;
    }

    /// A counter below this value is new.
    std::string any_least(std::int64_t today, const std::string& counter)
    {
        return std::to_string(
            std::array{std::int64_t{1'000'000'000'000'000}, today, near(counter)}[below(3)]);
    }

    void use_a_group(std::size_t who)
    {
        const auto keys = some_keys();
        switch (below(8)) {
            case 6: of_all(who, release_batch_script, keys, false, any_values(keys.size())); return;
            case 7: {
                auto arguments = any_values(keys.size());
                for (std::size_t i = 0; i < keys.size(); ++i) {
                    arguments.push_back(longer_or_shorter());
                }
                of_all(who, extend_batch_script, keys, false, arguments);
                return;
            }
            case 0:
                if (below(4) == 0) {
                    return take_at_the_end(who, keys);
                }
                [[fallthrough]];
            case 1: take(who, keys); break;
            case 2:
            case 3: of_all(who, release_all_script, keys, false, {any_value()}); return;
            case 4:
                of_all(who, extend_all_script, keys, false, {any_value(), longer_or_shorter()});
                return;
            default: raise(who, keys); break;
        }
        for (const std::string& key : keys) {
            take_over(counter_of(key));
        }
        clock_decides_ = false;
    }

    void take(std::size_t who, const std::vector<std::string>& keys)
    {
        const std::int64_t today = set_dates();
        const std::int64_t seed = below(3) == 0 ? 0 : near_or_far(today);
        of_all(who, take_script, keys, below(4) != 0,
               {any_value(), "1000000", std::to_string(keys.size()), std::to_string(seed),
                std::to_string(slack_us), "1000000", any_least(today, counter_of(keys[0]))});
    }

    /// Takes with counters at or just below the largest number that scripts can count to. No other
    /// command counts on from there.
    void take_at_the_end(std::size_t who, const std::vector<std::string>& keys)
    {
        words remove{"DEL"};
        for (const std::string& key : keys) {
            same(who, {"SET", counter_of(key),
                       below(2) == 0 ? "9007199254740988" : "9007199254740989", "PX", "900000"});
            remove.push_back(counter_of(key));
        }
        take(who, keys);
        same(who, remove);
        clock_decides_ = false;
    }

    /// Runs a script for any number of keys, with their counters or without.
    void of_all(std::size_t who, std::size_t script, const std::vector<std::string>& keys,
                bool with_counters, const words& args)
    {
        words command{below(4) == 0 ? "EVAL" : "EVALSHA", {}, {}};
        command.insert(command.end(), keys.begin(), keys.end());
        for (std::size_t i = 0; with_counters && i < keys.size(); ++i) {
            command.push_back(counter_of(keys[i]));
        }
        command[2] = std::to_string(command.size() - 3);
        command.insert(command.end(), args.begin(), args.end());
        same(who, command, script);
    }

    void use_a_queue(std::size_t who)
    {
        const std::string key = any_key();
        const std::string queue = queue_of(key);
        const std::string ticket = any_ticket();
        const std::string own_key = ticket_key(key, ticket);
        const std::string one_of_both = below(2) == 0 ? queue : own_key;
        switch (below(24)) {
            case 0: same(who, {"ZADD", queue, any_score(), "garbage"}); break;
            case 1: same(who, {"ZADD", queue, std::to_string(below(4)), ticket}); break;
            case 2: same(who, {"ZREM", queue, ticket, "garbage"}); break;
            case 3: same(who, {"ZRANK", queue, ticket}); break;
            case 4: same(who, {"ZCARD", queue}); break;
            case 5: same(who, {"ZRANGE", queue, any_place(), any_place()}); break;
            case 6: same(who, {"TYPE", one_of_both}); break;
            case 7: same(who, {"PTTL", one_of_both}); break;
            case 8: same(who, {"DEL", own_key}); break;
            case 9: same(who, {"DEL", queue}); break;
            case 10: same(who, {"PEXPIRE", own_key, below(2) == 0 ? "400000" : "600000"}); break;
            case 11:
                same(who, below(2) == 0 ? words{"HSET", one_of_both, "f", "v"}
                                        : words{"SET", one_of_both, "v", "NX", "PX", "900000"});
                break;
            case 12: let_one_expire(who, one_of_both); break;
            case 13:
            case 14:
                (void)set_dates();
                same(who, {below(4) == 0 ? "EVAL" : "EVALSHA", {}, "1", queue}, queue_state_script);
                break;
            case 15:
            case 16:
                same(who,
                     {below(4) == 0 ? "EVAL" : "EVALSHA",
                      {},
                      "2",
                      key,
                      queue,
                      below(4) == 0 ? "" : ticket},
                     leave_script);
                break;
            case 17:
            case 18:
                same(who, {"DEL", key});
                keep_place(who, key, ticket, any_number(queue), true);
                return;
            default: keep_place(who, key, ticket, any_number(queue), below(4) == 0); return;
        }
        compare_queue(key);
    }

    /// A new place at the end, or a number that the ticket had before.
    std::string any_number(const std::string& queue)
    {
        const auto* there = model_.find(now(), queue);
        if (below(2) == 0 || there == nullptr || there->tickets.empty()) {
            return below(4) == 0 ? std::to_string(1 + below(4)) : "0";
        }
        const double near = there->tickets[below(there->tickets.size())].number;
        const bool is_number = near > 1 && near < 9e15;
        return is_number ? std::to_string(static_cast<std::int64_t>(near)) : "0";
    }

    /// Gives the keys of tickets a long ttl if a script has just left them a short one. Otherwise
    /// they would soon expire, and not at the same moment on both sides.
    void prolong_shortened(base::instant began, const std::string& key)
    {
        for (const std::string& ticket : tickets) {
            const std::string name = ticket_key(key, ticket);
            const auto* there = model_.find(began, name);
            if (there == nullptr || !there->end || *there->end > now() + 2s) {
                continue;
            }
            if (clock_->ask({"PEXPIRE", name, "900000"}).integer == 1) {
                model_master::entry prolonged = *there;
                prolonged.end = now() + 900s;
                model_.write(name, std::move(prolonged));
            } else {
                model_.lose(name);
            }
            for (end& e : ends_) {
                compare_pushes(e);
            }
        }
    }

    /// Compares all parts of a queue. The model takes over the numbers of the tickets, because its
    /// own ones differ by the time that the commands took.
    void compare_queue(const std::string& key)
    {
        const std::string queue = queue_of(key);
        same_aside({"PTTL", queue});
        for (const std::string& ticket : tickets) {
            same_aside({"PTTL", ticket_key(key, ticket)});
        }
        same_aside({"ZRANGE", queue, "0", "-1"});
        const auto* there = model_.find(now(), queue);
        if (there == nullptr || there->tickets.empty() || model_.is_loading) {
            return;
        }
        const reply real = clock_->ask({"ZRANGE", queue, "0", "-1", "WITHSCORES"});
        model_master::entry taken_over = *there;
        REQUIRE(real.items.size() == 2 * taken_over.tickets.size());
        for (std::size_t i = 0; i < taken_over.tickets.size(); ++i) {
            const double score = std::stod(real.items[2 * i + 1].text);
            double& number = taken_over.tickets[i].number;
            CAPTURE(real.str(), i, number);
            if (std::isinf(number)) {
                REQUIRE(score == number);
            } else {
                compare_numbers(static_cast<std::int64_t>(score),
                                static_cast<std::int64_t>(number));
            }
            number = score;
        }
        model_.put(queue, std::move(taken_over));
    }

    /// Compares a command that comes from no compared connection.
    void same_aside(const words& command)
    {
        CAPTURE(command[0], command[1]);
        const auto before = now();
        const reply real = clock_->ask(command);
        slowest_ = std::max(slowest_, now() - before);
        aside_.authenticated = true;
        const auto modelled = parse_reply(model_.execute(before, aside_, command));
        REQUIRE(modelled);
        compare(real, modelled->value);
        for (end& e : ends_) {
            compare_pushes(e);
        }
    }

    static std::string queue_of(const std::string& key) { return key + ":redlock:queue"; }
    static std::string ticket_key(const std::string& key, const std::string& ticket)
    {
        return key + ":" + ticket + ":redlock:ticket";
    }
    std::string any_ticket() { return tickets[below(tickets.size())]; }
    /// A score that a program without knowledge of the queue may give.
    std::string any_score()
    {
        return std::array{"inf", "-inf", "1", "2", "9007199254740990", "x"}[below(6)];
    }

    /// Runs a script by its text or by its digest, as the command says.
    void same(std::size_t who, words command, std::size_t script)
    {
        command[1] = command[0] == "EVAL" ? text_of(script) : sha1(script);
        same(who, command);
    }

    static std::string counter_of(const std::string& key) { return key + ":fencing"; }

    /// Sets the model's date to the server's, and returns it.
    std::int64_t set_dates()
    {
        const auto before = now();
        const reply time = clock_->ask({"TIME"});
        slowest_ = std::max(slowest_, now() - before);
        asked_.insert("time");
        const std::int64_t today =
            std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text);
        model_.date_offset = std::chrono::microseconds{today - date_of(before)};
        return today;
    }

    /// A number near the counter.
    std::int64_t near(const std::string& counter)
    {
        const auto* there = model_.find(now(), counter);
        const bool counts = there != nullptr && !there->foreign_kind && there->value != "none";
        return (counts ? std::stoll(there->value) : 0) - 2 + static_cast<std::int64_t>(below(5));
    }

    /// The server's clock set its counter, and the model's counter differs by the time that the
    /// commands took. So the model takes the server's value.
    void take_over(const std::string& counter)
    {
        const auto* there = model_.find(now(), counter);
        if (there == nullptr || there->foreign_kind || there->value == "none") {
            return;
        }
        model_master::entry taken_over = *there;
        const reply real = clock_->ask({"GET", counter});
        compare_numbers(std::stoll(real.text), std::stoll(there->value));
        taken_over.value = real.text;
        model_.put(counter, taken_over);
    }

    void use_scripts(std::size_t who)
    {
        switch (below(8)) {
            case 0: same(who, {"SCRIPT", "FLUSH"}); return;
            case 1:
            case 2: same(who, {"SCRIPT", "EXISTS", any_sha1()}); return;
            case 3: same(who, {"SCRIPT", "EXISTS", any_sha1(), "none", any_sha1()}); return;
            default: same(who, {"SCRIPT", "LOAD", any_script()}); return;
        }
    }

    void talk_of_oneself(std::size_t who)
    {
        switch (below(15)) {
            case 0: same(who, {"PING"}); return;
            case 1: same(who, {"INFO"}); return;
            case 2: same(who, {"INFO", below(2) == 0 ? "server" : "memory"}); return;
            case 3: same(who, {"COMMAND", "INFO", "delifeq", "delex"}); return;
            case 4: same(who, {"COMMAND", "INFO", "get", "SET", "none", "evalsha"}); return;
            case 5: same(who, {"AUTH", "default", any_password()}); return;
            case 6: same(who, {"AUTH", any_password()}); return;
            case 7: same(who, {"SELECT", std::array{"0", "99", "-1", "x"}[below(4)]}); return;
            case 8: same(who, {"CLIENT", "SETNAME", below(2) == 0 ? "some" : "some one"}); return;
            case 9: same(who, {"CLIENT", "CACHING", below(2) == 0 ? "YES" : "NO"}); return;
            case 10: turn_tracking(who); return;
            case 11: same(who, {"FLUSHALL"}); return;
            case 12: connect_anew(who); return;
            default: greet_again(who); return;
        }
    }

    void greet_again(std::size_t who)
    {
        const std::string protocol = std::array{"2", "3", "4", "x"}[below(4)];
        switch (below(5)) {
            case 0: same(who, {"HELLO"}); return;
            case 1: same(who, {"HELLO", protocol, "AUTH", "default", any_password()}); return;
            case 2: same(who, {"HELLO", protocol, "SETNAME", "some"}); return;
            case 3: same(who, {"HELLO", protocol, "SETNAME", "some one"}); return;
            case 4: same(who, {"HELLO", protocol}); return;
        }
    }

    /// A connection that has logged in stays logged in until it is replaced.
    void connect_anew(std::size_t who)
    {
        model_.forget(*ends_[who].model);
        ends_[who] = {std::make_unique<resp_client>(real_.socket()), std::make_unique<session>()};
        if (below(2) == 0) {
            same(who, {"HELLO", "3"});
            same(who, {"CLIENT", "TRACKING", "ON", "OPTIN"});
        }
    }

    void turn_tracking(std::size_t who)
    {
        switch (below(4)) {
            case 0: same(who, {"CLIENT", "TRACKING", "OFF"}); return;
            case 1: same(who, {"CLIENT", "TRACKING", "ON"}); return;
            case 2: same(who, {"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"}); return;
            default: same(who, {"CLIENT", "TRACKING", "ON", "OPTIN"}); return;
        }
    }

    static std::string sha1(std::size_t which) { return std::string(contract_scripts[which].sha1); }
    static std::string text_of(std::size_t which)
    {
        return std::string(contract_scripts[which].text);
    }

    void compare(const words& command, const reply& real, const reply& modelled)
    {
        if (command.size() > 1 &&
            (command[1] == sha1(queue_state_script) || command[1] == text_of(queue_state_script))) {
            compare_states(real, modelled);
            return;
        }
        if (!real.is_error() && command[0] == "HELLO") {
            compare_greetings(real, modelled);
        } else if (!real.is_error() && command[0] == "INFO") {
            compare_infos(real, modelled);
        } else if (!real.is_error() && command[0] == "COMMAND") {
            compare_capabilities(real, modelled);
        } else {
            compare(real, modelled);
        }
    }

    /// A number that counts down is known within a tolerance only. The real server read its clock
    /// at some moment before the reply came, now and when the number was set. The same holds for a
    /// date.
    void compare_numbers(std::int64_t real, std::int64_t modelled) const
    {
        const auto slack = std::chrono::ceil<std::chrono::milliseconds>(slowest_) + 2ms;
        std::int64_t off = 0;
        if (std::abs(modelled) < 1'000'000'000'000'000) {
            off = modelled > 1000 ? slack.count() : 0;
        } else if (clock_decides_) {
            off = std::chrono::microseconds{2 * slack}.count();
        }
        CAPTURE(real, modelled);
        REQUIRE(std::abs(real - modelled) <= off);
    }

    void compare(const reply& real, const reply& modelled)
    {
        CAPTURE(real.str(), modelled.str());
        REQUIRE(real.type == modelled.type);
        if (real.is_error()) {
            ++errors_;
        }
        const auto [real_words, real_date] = split_date(real.text);
        const auto [modelled_words, modelled_date] = split_date(modelled.text);
        REQUIRE(wording(real_words) == wording(modelled_words));
        compare_numbers(real_date, modelled_date);
        compare_numbers(real.integer, modelled.integer);
        REQUIRE(real.items.size() == modelled.items.size());
        for (std::size_t i = 0; i < real.items.size(); ++i) {
            compare(real.items[i], modelled.items[i]);
        }
    }

    /// Compares the states of a queue. The server read its clock for the age of the first ticket.
    void compare_states(const reply& real, reply modelled)
    {
        if (!modelled.items.empty() && !real.items.empty()) {
            const auto slack = std::chrono::ceil<std::chrono::milliseconds>(slowest_) + 2ms;
            const std::int64_t age = real.items.back().integer;
            std::int64_t& modelled_age = modelled.items.back().integer;
            CAPTURE(age, modelled_age);
            REQUIRE((age < 0) == (modelled_age < 0));
            REQUIRE(std::abs(age - modelled_age) <= slack.count());
            modelled_age = age;
        }
        compare(real, modelled);
    }

    /// Servers differ in their names and in how they count connections.
    void compare_greetings(const reply& real, const reply& modelled)
    {
        CAPTURE(real.str(), modelled.str());
        REQUIRE(real.type == modelled.type);
        REQUIRE(real.items.size() == modelled.items.size());
        for (std::size_t i = 0; i + 1 < real.items.size(); i += 2) {
            const std::string& key = real.items[i].text;
            REQUIRE(key == modelled.items[i].text);
            REQUIRE(real.items[i + 1].type == modelled.items[i + 1].type);
            // Scripts may be a module, as in Valkey 9.
            if (key != "server" && key != "version" && key != "id" && key != "modules") {
                compare(real.items[i + 1], modelled.items[i + 1]);
            }
        }
    }

    /// The model returns only the fields that a client of locks may need. Their values must be the
    /// real ones.
    void compare_infos(const reply& real, const reply& modelled)
    {
        CAPTURE(real.text, modelled.text);
        REQUIRE(real.type == modelled.type);
        for (const std::string& field : fields_of(modelled.text)) {
            CAPTURE(field);
            const bool is_of_valkey = real.text.find("\nserver_mode:") != real.text.npos;
            const std::string is =
                told(real.text, field == "redis_mode" && is_of_valkey ? "server_mode" : field);
            if (field == "run_id") {
                REQUIRE(is_run_id(is));
                REQUIRE(is_run_id(told(modelled.text, field)));
            } else if (field == "redis_version") {
                REQUIRE_FALSE(is.empty());
            } else {
                REQUIRE(is == told(modelled.text, field));
            }
        }
    }

    void compare_capabilities(const reply& real, const reply& modelled)
    {
        CAPTURE(real.str(), modelled.str());
        REQUIRE(real.type == modelled.type);
        REQUIRE(real.items.size() == modelled.items.size());
        for (std::size_t i = 0; i < real.items.size(); ++i) {
            compare_traits(real.items[i], modelled.items[i]);
        }
    }

    /// Compares the entry of one command: null, or the same number of values of the same types. The
    /// number of arguments and the flags must be equal, because a server checks them before it
    /// executes the command.
    void compare_traits(const reply& real, const reply& modelled)
    {
        REQUIRE(real.type == modelled.type);
        REQUIRE(real.items.size() == modelled.items.size());
        if (real.items.empty()) {
            return;
        }
        constexpr std::size_t arity = 1;
        constexpr std::size_t flags = 2;
        // A command with subcommands lists them, and each has its own flags. A command without
        // subcommands has an empty set there, or an empty array, as the server prefers.
        const bool is_made_of_others = !real.items.back().items.empty();
        for (std::size_t i = 0; i + 1 < real.items.size(); ++i) {
            CAPTURE(i);
            REQUIRE(real.items[i].type == modelled.items[i].type);
        }
        // A command that replaces another one keeps its name.
        if (!stand_ins.contains(real.items[0].text)) {
            REQUIRE(real.items[0].text == modelled.items[0].text);
        }
        REQUIRE(real.items[arity].integer == modelled.items[arity].integer);
        for (const char* flag : {"loading", "denyoom"}) {
            CAPTURE(flag);
            REQUIRE((is_made_of_others ||
                     has_flag(real.items[flags], flag) == has_flag(modelled.items[flags], flag)));
        }
    }

    static bool has_flag(const reply& flags, std::string_view name)
    {
        return std::ranges::any_of(flags.items, [&](const reply& each) {
            return each.type == reply::kind::status && each.text == name;
        });
    }

    enum class order : std::uint8_t { same, any };

    void compare_pushes(end& e, order in = order::same)
    {
        std::vector<reply> real;
        std::vector<reply> modelled;
        while (!e.model->out.empty()) {
            auto push = parse_reply(e.model->out);
            REQUIRE(push);
            e.model->out.erase(0, push->size);
            modelled.push_back(std::move(push->value));
            INFO("awaited by " << &e - ends_.data() << ": " << modelled.back().str());
            real.push_back(e.real->read());
        }
        for (auto* all : {&real, &modelled}) {
            if (in == order::any) {
                std::ranges::sort(*all, {}, &reply::str);
            }
        }
        for (std::size_t i = 0; i < real.size(); ++i) {
            compare(real[i], modelled[i]);
        }
        pushes_ += real.size();
    }

    /// Gives a key a short ttl. The next command that names the key finds the end, or the server
    /// itself finds it.
    void let_one_expire(std::size_t who, const std::string& key)
    {
        same(who, {"PEXPIRE", key, "1"});
        if (model_.find(base::instant{}, key) == nullptr) {
            return;
        }
        // A command that reads the clock twice may see the key expire. Then it deletes the key, as
        // EXISTS would.
        const auto kept = static_cast<std::int64_t>(model_.all().size());
        if (clock_->ask({"DBSIZE"}).integer == kept - 1) {
            model_.lose(key);
            return;
        }
        const auto over = now() + 3ms;
        const std::int64_t over_there = set_dates() + 3000;
        REQUIRE(wait_for([&] { return now() >= over && set_dates() >= over_there; }));
        if (below(2) == 0) {
            let_server_look();
        }
    }

    /// In any order.
    void let_server_look()
    {
        (void)real_.ask({"DEBUG", "SET-ACTIVE-EXPIRE", "1"});
        REQUIRE(wait_for([&] {
            return real_.ask({"DBSIZE"}).integer == static_cast<std::int64_t>(model_.keys(now()));
        }));
        (void)real_.ask({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
        model_.expire(now());
        for (end& e : ends_) {
            compare_pushes(e, order::any);
        }
    }

    /// Fills the memory, or frees it again.
    void turn_memory() { set_full(!model_.is_full); }

    const std::vector<std::string> tickets{"t0", "t1", "t2", "t3", "t4"};

    /// Longer than any pause of the machine between two commands.
    static constexpr std::int64_t slack_us = 3'600'000'000;

    std::mt19937 random_;
    server& real_;
    /// For requests that come from no compared connection.
    std::unique_ptr<resp_client> clock_ = real_.connect();
    session aside_;
    model_master model_;
    std::vector<end> ends_;
    const clock_type::time_point began_ = clock_type::now();
    base::nanos slowest_{};
    std::int64_t longest_ = 2'000'000;
    bool clock_decides_ = false;
    std::size_t pushes_ = 0;
    std::size_t errors_ = 0;
    std::set<std::string> asked_;
};

void take_steps(pair_of_masters& both, std::uint32_t seed, int count)
{
    INFO("to repeat it: test-servers '[model]' --rng-seed " << seed);
    for (int i = 0; i < count; ++i) {
        CAPTURE(i);
        both.step();
    }
}

/// Sends what a server refuses in a restricted state, once over each connection.
void ask_all(pair_of_masters& both)
{
    const auto sha1 = std::string(contract_scripts[0].sha1);
    const auto text = std::string(contract_scripts[0].text);
    for (const words& command :
         std::initializer_list<words>{{"HELLO", "3", "SETNAME", "some"},
                                      {"CLIENT", "TRACKING", "ON", "OPTIN"},
                                      {"CLIENT", "CACHING", "YES"},
                                      {"CLIENT", "SETNAME", "some"},
                                      {"CLIENT", "TRACKING", "OFF"},
                                      {"SELECT", "0"},
                                      {"INFO"},
                                      {"COMMAND", "INFO", "delifeq", "delex"},
                                      {"SCRIPT", "LOAD", text},
                                      {"SCRIPT", "EXISTS", sha1},
                                      {"EVALSHA", sha1, "1", "k", "v"},
                                      {"EVAL", text, "1", "k", "v"},
                                      {"SET", "k", "v", "NX", "PX", "1000"},
                                      {"PTTL", "k"},
                                      {"GET", "k"},
                                      {"GETRANGE", "k", "0", "1"},
                                      {"PING"},
                                      {"DELIFEQ", "k", "v"},
                                      {"DELEX", "k", "IFEQ", "v"}}) {
        for (std::size_t who = 0; who < pair_of_masters::connections; ++who) {
            both.same(who, command);
        }
    }
}

}  // namespace

TEST_CASE("the simulation's node answers as a real one does", "[servers][model]")
{
    server real({.kind = each_kind()});
    const std::uint32_t seed = GENERATE(1U, 2U, Catch::getSeed());
    pair_of_masters both(real, seed);
    both.greet();
    take_steps(both, seed, 10'000);
    CHECK(both.pushes() > 20);
    CHECK(both.errors() > 50);
}

TEST_CASE("the simulation's node answers the queue's scripts as a real one does",
          "[servers][model]")
{
    server real({.kind = each_kind()});
    const std::uint32_t seed = GENERATE(1U, Catch::getSeed());
    INFO("to repeat it: test-servers '[model]' --rng-seed " << seed);
    pair_of_masters both(real, seed);
    both.greet();
    for (int i = 0; i < 5000; ++i) {
        CAPTURE(i);
        both.queue_step();
    }
    both.set_full(false);
    // More tickets than one run of the script removes, with keys and without.
    for (const bool have_keys : {false, true}) {
        both.same(0, {"FLUSHALL"});
        for (int i = 1; i <= 105; ++i) {
            const std::string ticket = "old" + std::to_string(i);
            both.same(1, {"ZADD", "k0:redlock:queue", std::to_string(i), ticket});
            if (have_keys) {
                both.same(1, {"SET", "k0:" + ticket + ":redlock:ticket", ""});
            }
        }
        for (int i = 0; i < 3; ++i) {
            both.keep_place(1, "k0", "t0", "0", have_keys && i == 1);
        }
        // The script changes the keys of the first 101 tickets.
        both.same(1, {"EXISTS", "k0:old1:redlock:ticket"});
        both.same(1, {"PTTL", "k0:old102:redlock:ticket"});
    }
    CHECK(both.pushes() > 20);
    CHECK(both.errors() > 50);
}

TEST_CASE("the simulation's node answers the admission script as a real one does in any state",
          "[servers][model]")
{
    server real({.kind = each_kind()});
    pair_of_masters both(real, 1);
    both.greet();
    const auto text = std::string(contract_scripts[admit_script].text);
    const std::vector<words> markers{{"DEL", "m"},
                                     {"SET", "m", "run and more"},
                                     {"SET", "m", "another"},
                                     {"HSET", "m", "f", "v"}};
    const std::vector<words> pendings{
        {"DEL", "p"}, {"SET", "p", "run"}, {"SET", "p", "another"}, {"HSET", "p", "f", "v"}};
    for (const words& marker : markers) {
        for (const words& pending : pendings) {
            for (const bool is_full : {false, true}) {
                for (std::size_t who = 0; who < 2; ++who) {
                    both.same(who, {"DEL", "m", "p"});
                    both.same(who, marker);
                    both.same(who, pending);
                    both.set_full(is_full);
                    both.same(0, {"CLIENT", "CACHING", "YES"});
                    both.same_dated(who, {"EVAL", text, "2", "p", "m", "run", "run now since="});
                    both.set_full(false);
                    both.same(who, {"EXISTS", "p"});
                    both.same(who, {"EXISTS", "m"});
                    both.same(who, {"PTTL", "m"});
                    both.same_dated(who, {"GET", "m"});
                }
            }
        }
    }
    both.same(0, {"EVALSHA", std::string(contract_scripts[admit_script].sha1), "2", "p", "m", "run",
                  "run"});
}

/// Not every server here has the commands that delete a key with a given value, DELIFEQ and
/// DELEX. On the others a command that writes and takes as many arguments carries the name. So the
/// real layout of the server's reply is compared in any case.
TEST_CASE("the simulation's node answers all commands it knows as a real one does",
          "[servers][model]")
{
    struct native {
        const char* name;
        const char* stand_in;
    };
    const flavour kind = each_kind();
    server_options with{.kind = kind};
    std::set<std::string> stand_ins;
    {
        const server plain(with);
        for (const native& n : {native{"delifeq", "renamenx"}, native{"delex", "getex"}}) {
            if (plain.ask({"COMMAND", "INFO", n.name}).items.at(0).items.empty()) {
                with.arguments.insert(with.arguments.end(),
                                      {"--rename-command", n.stand_in, n.name});
                stand_ins.insert(n.stand_in);
            }
        }
    }
    server real(with);
    pair_of_masters both(real, 1);
    both.stand_ins = stand_ins;
    both.model().has_delifeq = true;
    both.model().has_delex = true;
    both.greet();
    for (std::size_t who = 0; who < pair_of_masters::connections; ++who) {
        both.same(
            who, {"COMMAND", "INFO", "delifeq", "delex",  "none",     "auth",   "client", "command",
                  "del",     "eval", "evalsha", "exists", "flushall", "get",    "hello",  "hset",
                  "incr",    "info", "pexpire", "ping",   "pttl",     "script", "select", "set"});
    }
    // A client understands the real server's reply.
    locks mine({real.url()});
    mine.give_back(mine.take("r"));
    const std::string counts = real.command({"INFO", "commandstats"});
    CHECK(counts.find(stand_ins.contains("renamenx") ? "cmdstat_renamenx:" : "cmdstat_delifeq:") !=
          std::string::npos);
}

TEST_CASE("the simulation's node answers as a real one does while it is loading",
          "[servers][model]")
{
    const std::uint32_t seed = Catch::getSeed();
    server real({.kind = each_kind(),
                 .files = persistence::snapshot,
                 .arguments = {"--loading-process-events-interval-bytes", "1024",
                               "--rdbcompression", "no"}});
    real.command({"DEBUG", "POPULATE", "40000", "key", "1000"});
    real.command({"SAVE"});
    // The load must outlast the test, and the server executes commands only between two keys.
    real.options().arguments.insert(real.options().arguments.end(), {"--key-load-delay", "5000"});
    real.restart(memory::kept, readiness::answering);
    pair_of_masters both(real, seed);
    both.model().is_loading = true;
    ask_all(both);
    CHECK(both.errors() == 11 * pair_of_masters::connections);
    take_steps(both, seed, 500);
    CHECK(told(real.ask({"INFO", "persistence"}).text, "loading") == "1");
}

TEST_CASE("the simulation's node answers as a real one does when it wants a password",
          "[servers][model]")
{
    const std::uint32_t seed = Catch::getSeed();
    server real({.kind = each_kind(), .password = "open-sesame"});
    pair_of_masters both(real, seed);
    both.model().password = "open-sesame";
    ask_all(both);
    CHECK(both.errors() == 19 * pair_of_masters::connections);
    for (const words& command :
         std::initializer_list<words>{{"HELLO"},
                                      {"HELLO", "4"},
                                      {"HELLO", "3", "AUTH", "default", "simsim"},
                                      {"AUTH", "simsim"},
                                      {"AUTH", "default", "simsim"},
                                      {"PING"}}) {
        both.same(0, command);
        both.same(1, command);
    }
    both.same(0, {"AUTH", "open-sesame"});
    both.same(0, {"AUTH", "simsim"});
    both.same(0, {"PING"});
    both.same(1, {"AUTH", "default", "open-sesame"});
    both.same(1, {"HELLO"});
    both.same(2, {"HELLO", "3", "AUTH", "default", "open-sesame", "SETNAME", "some"});
    both.same(2, {"GET", "k"});
    take_steps(both, seed, 3000);
}

TEST_CASE("the comparison covers every command that the library sends", "[servers][model]")
{
    const flavour kind = each_kind();
    server real({.kind = kind});
    pair_of_masters both(real, 1);
    both.greet();
    take_steps(both, 1, 3000);
    both.set_full(false);
    both.same(
        0, {"EVAL", std::string(contract_scripts[admit_script].text), "2", "p", "m", "run", "run"});
    // One server knows HELLO and runs under the restart guard. The other one understands only the
    // older commands.
    for (const words& arguments : {words{}, words{"--rename-command", "HELLO", ""}}) {
        server asked({.kind = kind, .password = "open-sesame", .arguments = arguments});
        config c = patient({asked.url("default", "open-sesame", 1)});
        const bool is_guarded = arguments.empty();
        if (is_guarded) {
            c.restart_guard = guard_config{.max_ttl = longer_ttl, .admit_new_nodes = true};
        }
        c.client_name = "some";
        c.ping_interval = 20ms;
        locks mine(c);
        REQUIRE(mine.await(
            [&] { return mine.stats().nodes_ready == 1 && mine.stats().nodes_quarantined == 0; }));
        lock held = mine.take("r");
        CHECK(mine.acquire("r", once()).error == errc::contended);
        CHECK_FALSE(mine.extend(held, longer_ttl));
        CHECK_FALSE(mine.inspect("r").error);
        asked.command({"SCRIPT", "FLUSH"});
        mine.give_back(std::move(held));
        const auto counts = [&] { return asked.command({"INFO", "commandstats"}); };
        // Under the guard a client asks a node for its marker, which replaces the PING.
        REQUIRE((is_guarded ||
                 mine.await([&] { return counts().find("cmdstat_ping:") != std::string::npos; })));
        CHECK_FALSE(mine.close());
        const std::string text = counts();
        std::size_t found = 0;
        for (std::size_t at = text.find("cmdstat_"); at != std::string::npos;
             at = text.find("cmdstat_", at + 1)) {
            const std::string name = text.substr(at + 8, text.find(':', at) - at - 8);
            CAPTURE(name);
            // Valkey 9's own module for scripts sends this command when the module starts.
            const bool is_its_own = kind == flavour::valkey9 && name == "config|get";
            CHECK((is_its_own || both.asked().contains(name)));
            ++found;
        }
        CHECK(found >= 10);
    }
}
