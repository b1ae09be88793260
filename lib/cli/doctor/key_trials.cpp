#include "cli/doctor/key_trials.hpp"

#include "base/owner_token.hpp"
#include "base/system_entropy.hpp"
#include "core/label.hpp"
#include "resp/error_text.hpp"
#include "resp/scripts.hpp"

#include <redlock/error.hpp>

#include <boost/system/system_error.hpp>

#include <string_view>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

/// The ttl of all keys that the doctor writes, in milliseconds. It removes a key that the doctor
/// can't delete.
constexpr std::string_view scratch_ttl = "10000";
constexpr std::size_t scratch_digits = 16;
/// The ttl of the doctor's ticket, in milliseconds. The queue's key gets twice this ttl.
constexpr std::string_view scratch_ticket_ttl = "5000";

std::string random_digits()
{
    base::system_entropy kernel;
    const auto token = base::owner_token::make(kernel);
    if (!token) {
        throw boost::system::system_error(errc::no_entropy);
    }
    return std::string(token->view());
}

/// The key of a ticket, as the scripts of the queue make it.
std::string ticket_key_of(const std::string& lock, const std::string& ticket)
{
    return lock + ':' + ticket + std::string(base::ticket_suffix);
}

}  // namespace

key_trials::key_trials(doctor_connection& talk, const base::settings& s, node_facts& facts,
                       trials& all)
    : talk_(talk),
      settings_(s),
      facts_(facts),
      trials_(all),
      value_(random_digits()),
      other_value_(random_digits()),
      key_(s.key_prefix + own_keys(facts.resource) + value_.substr(0, scratch_digits)),
      counter_(key_ + std::string(base::counter_suffix)),
      queue_(key_ + std::string(base::queue_suffix)),
      ticket_(other_value_.substr(0, scratch_digits)),
      ticket_key_(ticket_key_of(key_, ticket_))
{}

void key_trials::ask()
{
    try_keys();
    try_scripts();
    try_tracking();
    trials_.attempt(needed::del, {"DEL", key_});
}

void key_trials::try_keys()
{
    trials_.attempt(needed::set, {"SET", key_, value_, "NX", "PX", scratch_ttl});
    trials_.attempt(needed::get, {"GET", key_});
    trials_.attempt(needed::getrange, {"GETRANGE", key_, "0", "-1"});
    trials_.attempt(needed::pttl, {"PTTL", key_});
    trials_.attempt(needed::pexpire, {"PEXPIRE", key_, scratch_ttl});
}

/// Tries the scripts. They compare with a value that no key has, so they delete nothing.
void key_trials::try_scripts()
{
    const auto& release = resp::release_script;
    trials_.attempt(needed::script_load, {"SCRIPT", "LOAD", release.text});
    trials_.attempt(needed::evalsha, {"EVALSHA", release.sha1, "1", key_, other_value_});
    trials_.attempt(needed::eval, {"EVAL", release.text, "1", key_, other_value_});
    if (facts_.deletes_by == core::compare_and_delete::delifeq) {
        trials_.attempt(needed::native_delete, {"DELIFEQ", key_, other_value_});
    } else if (facts_.deletes_by == core::compare_and_delete::delex) {
        trials_.attempt(needed::native_delete, {"DELEX", key_, "IFEQ", other_value_});
    }
}

void key_trials::try_tracking()
{
    if (!settings_.release_notifications || facts_.protocol != 3) {
        return;
    }
    trials_.attempt(needed::client_tracking, {"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"});
    trials_.attempt(needed::client_caching, {"CLIENT", "CACHING", "YES"});
    trials_.attempt(needed::client_tracking, {"CLIENT", "TRACKING", "OFF"});
}

/// SET creates the key with a ttl first: a key that only INCR creates would stay for ever if the
/// connection were lost right after it.
asio::awaitable<void> key_trials::count()
{
    const auto set = facts_[needed::set].is;
    if (set != trial::outcome::went && set != trial::outcome::forbidden_key) {
        co_return;
    }
    talk_.allow(settings_.stall_timeout);
    trials_.attempt(needed::set, {"SET", counter_, "0", "NX", "PX", scratch_ttl});
    trials_.attempt(needed::incr, {"INCR", counter_});
    trials_.attempt(needed::pexpire, {"PEXPIRE", counter_, scratch_ttl});  // if SET was refused
    trials_.attempt(needed::del, {"DEL", counter_});
    co_await trials_.hear();
}

asio::awaitable<void> key_trials::try_in_scripts()
{
    struct row {
        needed what;
        std::string_view script;
    };
    // The keys get a ttl before INCR, and DEL comes last.
    static constexpr row rows[] = {
        {needed::get, "return redis.call('get',KEYS[1])"},
        {needed::pttl, "return redis.call('pttl',KEYS[1])"},
        {needed::pexpire, "return redis.call('pexpire',KEYS[1],10000)"},
        {needed::time, "return redis.call('time')"},
        {needed::incr, "redis.call('set',KEYS[1],0,'px',10000) return redis.call('incr',KEYS[1])"},
        {needed::del, "return redis.call('del',KEYS[1],KEYS[2])"},
    };
    if (facts_[needed::eval].is != trial::outcome::went) {
        co_return;
    }
    talk_.allow(settings_.stall_timeout);
    for (const row& r : rows) {
        trial& t = facts_[r.what];
        if (t.is != trial::outcome::refused && t.is != trial::outcome::unknown) {
            continue;
        }
        trials_.put({"EVAL", r.script, "2", key_, counter_});
        talk_.send();
        if (const resp::reply reply = co_await talk_.next(); !reply.is_error()) {
            t.is = trial::outcome::went;
            t.only_in_scripts = true;
        }
    }
}

asio::awaitable<void> key_trials::queue()
{
    const auto passes = [this](needed n) {
        const auto is = facts_[n].is;
        return is == trial::outcome::went || is == trial::outcome::forbidden_key;
    };
    if (!settings_.fair_queue || !passes(needed::eval) || !passes(needed::set)) {
        co_return;
    }
    const bool has_keys = facts_[needed::set].is == trial::outcome::went;
    talk_.allow(settings_.stall_timeout);
    if (has_keys) {
        co_await try_queue_scripts();
    }
    if (facts_[needed::queue].is != trial::outcome::went) {
        co_await try_queue_commands();
    }
}

/// DEL comes last, because a user who may not remove a ticket may still delete the keys.
asio::awaitable<void> key_trials::try_queue_scripts()
{
    trials_.put({"EVAL", resp::queue_script.text, "2", key_, queue_, ticket_, scratch_ticket_ttl,
                 "0", "0"});
    trials_.put({"EVAL", resp::leave_script.text, "2", key_, queue_, ticket_});
    trials_.put({"DEL", queue_, ticket_key_});
    talk_.send();
    trial& all = facts_[needed::queue];
    all = co_await trials_.hear_script();
    const trial left = co_await trials_.hear_script();
    if (all.is == trial::outcome::went) {
        all = left;
    }
    co_await talk_.next();
}

/// A server checks the command before its keys, so a key that is not permitted makes no difference.
/// None of these commands changes anything.
asio::awaitable<void> key_trials::try_queue_commands()
{
    struct row {
        needed what;
        std::string_view script;
    };
    static constexpr row rows[] = {
        {needed::zadd, "return redis.call('zadd',ARGV[1],'xx',0,'')"},
        {needed::zcard, "return redis.call('zcard',ARGV[1])"},
        {needed::zrange, "return redis.call('zrange',ARGV[1],0,0)"},
        {needed::zrank, "return redis.call('zrank',ARGV[1],'')"},
        {needed::zrem, "return redis.call('zrem',ARGV[1],'')"},
    };
    for (const row& r : rows) {
        trials_.put({"EVAL", r.script, "0", queue_});
    }
    talk_.send();
    for (const row& r : rows) {
        facts_[r.what] = co_await trials_.hear_script();
    }
}

/// A compare-and-delete with a value that no key has needs the permission to read and write the
/// key, and changes nothing.
asio::awaitable<void> key_trials::look_at_resource()
{
    if (facts_.resource.empty()) {
        co_return;
    }
    const std::string lock = settings_.key_prefix + facts_.resource;
    const std::string counter = lock + std::string(base::counter_suffix);
    const std::string label = lock + std::string(base::holder_suffix);
    const std::string queue = lock + std::string(base::queue_suffix);
    const std::string ticket = ticket_key_of(lock, ticket_);
    const bool has_text = !facts_[needed::eval].is_missing();
    const auto& release = resp::release_script;
    talk_.allow(settings_.stall_timeout);
    for (const std::string* key : {&lock, &counter, &label, &queue, &ticket}) {
        trials_.put({has_text ? "EVAL" : "EVALSHA", has_text ? release.text : release.sha1, "1",
                     *key, other_value_});
    }
    trials_.put({"PTTL", lock});
    trials_.put({"GET", counter});
    trials_.put({"GETRANGE", label, "0", std::to_string(core::max_stored_label_size - 1)});
    trials_.put({"EVAL", resp::queue_state_script.text, "1", queue});
    talk_.send();
    resource_facts& found = facts_.of_resource;
    const resp::reply ended = co_await talk_.next();
    found.is_foreign = ended.is_error() && resp::says_wrong_type(ended.text());
    found.forbids_lock = ended.is_error() && resp::says_key_not_permitted(ended.text());
    found.is_known = !ended.is_error() || found.is_foreign || found.forbids_lock;
    for (bool* const is_forbidden : {&found.forbids_counter, &found.forbids_label,
                                     &found.forbids_queue, &found.forbids_ticket}) {
        const resp::reply r = co_await talk_.next();
        *is_forbidden = r.is_error() && resp::says_key_not_permitted(r.text());
    }
    const resp::reply ttl = co_await talk_.next();
    found.is_endless = ttl.is_integer() && ttl.integer() == -1;
    found.counter_fault = fault_of_counter(co_await talk_.next());
    found.label_fault = fault_of_label(co_await talk_.next());
    const resp::reply waiting = co_await talk_.next();
    found.has_foreign_queue = waiting.is_error() && resp::says_wrong_type(waiting.text());
}

}  // namespace redlock::cli
