#include "cli/doctor/node.hpp"

#include "base/text.hpp"
#include "cli/doctor/connection.hpp"
#include "cli/doctor/key_trials.hpp"
#include "cli/doctor/trials.hpp"
#include "core/node/admission.hpp"
#include "engine/known_addresses.hpp"
#include "resp/error_text.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The longest mode or role to keep, in bytes.
constexpr std::size_t longest_word = 32;

/// The longest time between two samples of a node's latency and clock.
constexpr std::chrono::milliseconds longest_pause = 10ms;

/// A client without a login does not count such a reason as a refused login.
bool is_login_error(std::string_view reason) noexcept
{
    return reason.ends_with("(WRONGPASS)") || reason.ends_with("(NOAUTH)");
}

/// Whether only a replica answers a write like this.
bool is_replicas(std::string_view error)
{
    return resp::has_code(error, "READONLY") || resp::has_code(error, "MASTERDOWN");
}

std::optional<std::chrono::microseconds> date_in(const resp::reply& time)
{
    std::int64_t seconds = 0;
    std::int64_t rest = 0;
    const auto read = [](std::string_view text, std::int64_t& value) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc{} && end == text.data() + text.size();
    };
    // The last second of the year 2255. The difference between any two dates up to it fits in
    // nanoseconds.
    constexpr std::int64_t last_second = 9'000'000'000;
    if (!time.is_aggregate() || !read(time.at(0).text(), seconds) ||
        !read(time.at(1).text(), rest) || seconds < 0 || seconds > last_second || rest < 0 ||
        rest > 999'999) {
        return std::nullopt;
    }
    return std::chrono::seconds(seconds) + std::chrono::microseconds(rest);
}

/// The dialogue with one node. Each step adds to the facts.
class conversation {
public:
    conversation(const asio::any_io_executor& executor, const base::settings& s,
                 const base::address& address, std::shared_ptr<engine::known_addresses> addresses,
                 our_date date, node_facts& facts)
        : settings_(s),
          address_(address),
          date_(date),
          facts_(facts),
          talk_(
              executor, address,
              address.via == base::address::transport::tls ? engine::make_tls_context(s) : nullptr,
              std::move(addresses)),
          pause_(executor),
          trials_(talk_, facts, address.password.view()),
          keys_(talk_, s, facts, trials_)
    {}

    asio::awaitable<void> greet(bool says_hello);
    asio::awaitable<void> question();
    asio::awaitable<void> use_keys();
    asio::awaitable<void> look_for_marker();
    asio::awaitable<void> watch(std::chrono::milliseconds span);
    /// Evaluates the samples. Works also after `watch` ended early.
    void measure();

    /// Whether the node closed the connection at the first command.
    [[nodiscard]] bool was_cut_off(std::string_view trouble) const
    {
        return facts_.reached == contact::broken && !facts_.has_answered &&
               !says_what_it_does(trouble);
    }

private:
    void take(needed n, const resp::reply& r);
    void take_option(const resp::reply& r);
    void ask_of_the_server();
    void judge_marker(const core::handshake& h);
    [[nodiscard]] keeps kept() const;

    const base::settings& settings_;
    const base::address& address_;
    const our_date date_;
    node_facts& facts_;
    doctor_connection talk_;
    asio::steady_timer pause_;
    trials trials_;
    key_trials keys_;

    bool has_database_ = false;
    std::string appendfsync_;
    std::optional<bool> saves_;
    bool pauses_in_rewrites_ = false;
    std::vector<sample> samples_;
};

// Greeting, with the same commands that every client sends.

asio::awaitable<void> conversation::greet(bool says_hello)
{
    talk_.allow(settings_.connect_timeout);
    co_await talk_.connect();
    facts_.reached = contact::broken;
    core::handshake shake(settings_, address_);
    unsigned expected = shake.start(talk_.out(), says_hello);
    auto progress = core::handshake::progress::going_on;
    for (unsigned heard = 0; heard != expected; ++heard) {
        talk_.send();
        facts_.unanswered = shake.unanswered();
        const resp::reply r = co_await talk_.next();
        facts_.has_answered = true;
        if (heard == 0) {
            facts_.mode = base::printable(r.find("mode").text().substr(0, longest_word));
            facts_.role = base::printable(r.find("role").text().substr(0, longest_word));
            facts_.answers_hello_oddly =
                says_hello && !r.is_error() && !r.find("proto").is_integer();
        }
        if (progress != core::handshake::progress::going_on) {
            continue;  // the reply to a command that was sent before the greeting failed
        }
        unsigned more = 0;
        progress = shake.on_reply(r, talk_.out(), more);
        expected += more;
        facts_.login_refused = shake.is_refused_login();
        if (progress == core::handshake::progress::failed) {
            facts_.unusable = shake.reason();
            facts_.login_refused = facts_.login_refused || is_login_error(shake.reason());
        }
    }
    facts_.unanswered.clear();
    if (facts_.role.empty() && shake.is_replica()) {
        facts_.role = "replica";
    }
    facts_.protocol = shake.protocol();
    facts_.deletes_by = shake.deletes_by();
    facts_.run_id = shake.run_id();
    // If SELECT failed or was never sent, keys would go into the wrong database.
    has_database_ = expected > 1 && !facts_.unusable.starts_with("the server refused the database");
    if (progress == core::handshake::progress::ready) {
        judge_marker(shake);
        if (facts_.admitted != admittance::other_configuration) {
            facts_.ready_since = talk_.arrived();
        }
    }
}

void conversation::judge_marker(const core::handshake& shake)
{
    if (!settings_.guard || address_.durable) {
        return;
    }
    core::admission admission(&*settings_.guard);
    admission.on_connected(shake.run_id());
    switch (admission.judge(shake.marker())) {
        case core::marker_says::admitted: facts_.admitted = admittance::admitted; return;
        case core::marker_says::not_admitted: facts_.admitted = admittance::not_admitted; return;
        case core::marker_says::other_configuration:
            facts_.admitted = admittance::other_configuration;
            facts_.disagreement = guard_of(*shake.marker());
            return;
    }
}

// Questions, all in one write.

asio::awaitable<void> conversation::question()
{
    talk_.allow(settings_.stall_timeout);
    ask_of_the_server();
    if (has_database_) {
        keys_.ask();
    }
    co_await trials_.hear([this](needed n, const resp::reply& r) { take(n, r); });
    facts_.kept = kept();
    if (facts_.role.empty() && is_replicas(facts_[needed::set].error)) {
        facts_.role = "replica";
    }
    if (facts_.info && facts_.run_id.empty()) {
        facts_.run_id = facts_.info->run_id;
    }
}

void conversation::ask_of_the_server()
{
    trials_.attempt(needed::info, {"INFO"});
    trials_.attempt(needed::config_get, {"CONFIG", "GET", "appendfsync"});
    trials_.attempt(needed::config_get, {"CONFIG", "GET", "no-appendfsync-on-rewrite"});
    trials_.attempt(needed::config_get, {"CONFIG", "GET", "save"});
    trials_.attempt(needed::command_info, {"COMMAND", "INFO", "delifeq", "delex"});
    trials_.attempt(needed::ping, {"PING"});
    trials_.attempt(needed::time, {"TIME"});
    if (facts_.protocol == 3) {
        facts_[needed::hello].is = trial::outcome::went;
        return;
    }
    if (!facts_.closes_at_hello && !facts_.answers_hello_oddly) {
        trials_.attempt(needed::hello, {"HELLO"});
    }
    if (!settings_.client_name.empty()) {
        trials_.attempt(needed::client_setname, {"CLIENT", "SETNAME", settings_.client_name});
    }
}

asio::awaitable<void> conversation::use_keys()
{
    co_await keys_.count();
    co_await keys_.try_in_scripts();
    if (has_database_) {
        co_await keys_.queue();
        co_await keys_.look_at_resource();
    }
}

/// Looks for the marker of other clients' restart guard. A client without the guard doesn't read
/// the marker. If its user may not read the marker, each attempt would add an entry to the server's
/// ACL log.
asio::awaitable<void> conversation::look_for_marker()
{
    if (settings_.guard || !has_database_) {
        co_return;
    }
    talk_.allow(settings_.stall_timeout);
    trials_.put({"GET", settings_.key_prefix + std::string(base::marker_resource)});
    talk_.send();
    if (const resp::reply marker = co_await talk_.next(); marker.is_string()) {
        facts_.guard_of_others = guard_of(marker.text());
    }
}

void conversation::take(needed n, const resp::reply& r)
{
    if (n == needed::info && r.is_string()) {
        facts_.info = read_info(r.text());
        if (!facts_.info->mode.empty()) {
            facts_.mode = facts_.info->mode;
        }
        if (!facts_.info->role.empty()) {
            facts_.role = facts_.info->role;
        }
    }
    if (n == needed::config_get) {
        take_option(r);
    }
}

void conversation::take_option(const resp::reply& r)
{
    const auto value = [&r](std::string_view name) { return r.find(name); };
    if (const resp::reply fsync = value("appendfsync"); fsync.is_string()) {
        appendfsync_ = fsync.text();
    } else if (const resp::reply pause = value("no-appendfsync-on-rewrite"); pause.is_string()) {
        pauses_in_rewrites_ = pause.text() != "no";
    } else if (const resp::reply save = value("save"); save.is_string()) {
        saves_ = !save.text().empty();
    }
}

keeps conversation::kept() const
{
    if (!facts_.info) {
        return keeps::not_known;
    }
    if (!facts_.info->appends) {
        return !saves_ ? keeps::nothing_or_snapshots : *saves_ ? keeps::snapshots : keeps::nothing;
    }
    if (appendfsync_ == "always") {
        return pauses_in_rewrites_ ? keeps::all_but_in_rewrites : keeps::everything;
    }
    if (appendfsync_ == "everysec") {
        return keeps::all_but_a_second;
    }
    return appendfsync_ == "no" ? keeps::by_and_by : keeps::appended;
}

// Measurements.

asio::awaitable<void> conversation::watch(std::chrono::milliseconds span)
{
    const auto end = boot_clock::now() + span;
    do {
        talk_.allow(settings_.stall_timeout);
        sample s;
        s.sent = boot_clock::now();
        trials_.put({"PING"});
        trials_.put({"TIME"});
        talk_.send();
        co_await talk_.next();
        const resp::reply time = co_await talk_.next();
        s.answered = talk_.arrived();
        s.date = date_.at(s.answered);
        s.node_date = date_in(time);
        samples_.push_back(s);
        pause_.expires_after(std::min(longest_pause, span));
        co_await pause_.async_wait(asio::use_awaitable);
    } while (boot_clock::now() < end || samples_.size() < 2);  // a rate needs two samples
}

void conversation::measure()
{
    facts_.latency = latency_of(samples_);
    facts_.clock = clock_of(samples_);
}

/// A server that closes the connection after it refused the login has that reason, as in the log of
/// a client.
void note_refused_login(node_facts& facts)
{
    if (!facts.login_refused || !facts.unusable.empty()) {
        return;
    }
    facts.login_refused = !says_what_it_does(facts.trouble);
    if (facts.login_refused) {
        facts.unusable = facts.trouble + ", after it refused user and password";
    }
}

/// Whether a client would use the node, as far as the greeting shows.
bool is_fit(const node_facts& facts)
{
    return facts.reached == contact::whole && facts.unusable.empty() && !facts.is_replica();
}

/// Examines the server at the next address of the node. With `may_skip` it only greets an unfit
/// server if the name has further addresses.
asio::awaitable<node_facts> examine_one(asio::any_io_executor executor, const base::settings& s,
                                        std::size_t index, our_date date, const doctor_options& o,
                                        std::shared_ptr<engine::known_addresses> addresses,
                                        bool may_skip, bool is_first)
{
    const base::address& address = s.nodes[index];
    node_facts facts;
    facts.node = address.display;
    facts.has_tls = address.via == base::address::transport::tls;
    facts.is_durable = address.durable;
    facts.resource = o.resource.value_or("");
    std::optional<conversation> talk;
    // A client reconnects without HELLO to a node that closes the connection at HELLO, so the
    // doctor does the same.
    for (const bool says_hello : {true, false}) {
        facts.trouble.clear();
        facts.reached = contact::none;
        facts.closes_at_hello = !says_hello;
        talk.emplace(executor, s, address, addresses, date, facts);
        try {
            co_await talk->greet(says_hello);
            const bool is_skipped = may_skip && (!is_first || addresses->has_untried()) &&
                                    (!facts.unusable.empty() || facts.is_replica());
            if (!facts.login_refused && !is_skipped) {
                co_await talk->question();
                co_await talk->use_keys();
                co_await talk->look_for_marker();
                co_await talk->watch(o.watch);
            }
            facts.reached = contact::whole;
        } catch (const no_answer& why) {
            facts.trouble = why.what();
            facts.ready_since = boot_clock::time_point::max();
            if (facts.trouble == unfinished_tls) {
                facts.reached = contact::broken;
            }
            note_refused_login(facts);
        }
        facts.closes_at_hello = facts.closes_at_hello && facts.has_answered;
        if (!talk->was_cut_off(facts.trouble) || !says_hello) {
            break;
        }
        addresses->try_again();
    }
    talk->measure();
    co_return facts;
}

}  // namespace

asio::awaitable<node_facts> examine(asio::any_io_executor executor, const base::settings& s,
                                    std::size_t index, our_date date, const doctor_options& o)
{
    const auto addresses = std::make_shared<engine::known_addresses>();
    // Like a client, the doctor goes on to the next address of a name.
    constexpr int most_addresses = 8;
    for (int i = 0; i < most_addresses; ++i) {
        node_facts facts =
            co_await examine_one(executor, s, index, date, o, addresses, true, i == 0);
        if (is_fit(facts) || (i == 0 && !addresses->has_untried())) {
            co_return facts;
        }
        if (!addresses->has_untried()) {
            break;
        }
    }
    co_return co_await examine_one(executor, s, index, date, o, addresses, false, true);
}

}  // namespace redlock::cli
