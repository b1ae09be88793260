#include "sim/checker.hpp"

#include "sim/names.hpp"
#include "sim/world.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace redlock::sim {

using namespace std::chrono_literals;

namespace {

/// A node may fail if a message takes longer than this.
constexpr nanos late = 10ms;

/// After a fault has ended, the connection is up again within this time.
constexpr nanos convalescence = 800ms;

/// Whether the key is the fencing counter of a resource and not its lock.
bool is_counter(std::string_view key)
{
    return key.ends_with(":fencing");
}

bool is_of_queue(std::string_view key)
{
    return key.ends_with(":redlock:queue") || key.ends_with(":redlock:ticket");
}

bool is_script(const test::words& command, const test::contract_script& s)
{
    return (command.front() == "EVALSHA" && command.at(1) == s.sha1) ||
           (command.front() == "EVAL" && command.at(1) == s.text);
}

using test::contract;
using test::script_for;
constexpr const test::contract_script& script_to_release = script_for(contract::release);
constexpr const test::contract_script& script_to_count = script_for(contract::count);
constexpr const test::contract_script& script_to_raise = script_for(contract::align);
constexpr const test::contract_script& script_to_take = script_for(contract::take);
constexpr const test::contract_script& script_to_release_all = script_for(contract::release_all);
constexpr const test::contract_script& script_of_releases = script_for(contract::release_batch);

/// The value of a counter that lasts. Zero: the counter is new, or the reply has no counter.
std::int64_t counter_in(std::string_view reply)
{
    constexpr std::int64_t least_seeded = 1'000'000'000'000'000;
    std::int64_t value = 0;
    if (reply.starts_with(':')) {
        std::from_chars(reply.data() + 1, reply.data() + reply.size(), value);
    }
    return value < least_seeded ? 0 : value;
}

/// The tokens of a release. Empty: the command isn't a release.
std::span<const std::string> tokens_of_release(const test::words& command)
{
    if (command.front() == "DELIFEQ" || command.front() == "DELEX") {
        return std::span(command).last(1);
    }
    const bool is_release = is_script(command, script_to_release) ||
                            is_script(command, script_to_release_all) ||
                            is_script(command, script_of_releases);
    return is_release ? std::span(command).subspan(3 + std::stoul(command.at(2)))
                      : std::span<const std::string>();
}

/// Whether two locks have a resource in common.
bool meet(const std::string& some, const std::string& others)
{
    const auto names = parts_of(some);
    const auto its = parts_of(others);
    return std::find_first_of(names.begin(), names.end(), its.begin(), its.end()) != names.end();
}

unsigned count_of(std::uint32_t nodes)
{
    return static_cast<unsigned>(std::popcount(nodes));
}

/// If nothing is wrong, a client that begins has its connections within this time.
constexpr nanos first_connections = 200ms;

/// An earlier request may still time out within this time, and its client then avoids the node for
/// a moment.
constexpr nanos after_a_proof = 60ms;

/// The key of a released lock or a failed attempt is gone within this time.
constexpr nanos until_given_back = 60ms;

/// A counter that an INCR created without a ttl gets one within this time.
constexpr nanos until_mended = 60ms;

/// The client's own scheduling may add this much to a deadline.
constexpr nanos scheduling = 5ms;

}  // namespace

checker::checker(world& w)
    : w_(w),
      known_(w.planned().clients, std::vector<acquaintance>(w.planned().nodes)),
      admitted_(w.planned().nodes, w.planned().new_masters ? instant::max() : instant{}),
      lost_(w.planned().nodes),
      born_(w.planned().clients),
      heard_(w.planned().clients),
      deceived_(w.planned().clients)
{}

void checker::fail(const std::string& what) const
{
    w_.say("VIOLATION: ", what);
    throw violation(what);
}

void checker::condemn(const std::string& what) const
{
    w_.say("VIOLATION: ", what);
    throw inexcusable(what);
}

unsigned checker::quorum() const
{
    return w_.planned().nodes / 2 + 1;
}

// Health of nodes.

void checker::upset(unsigned client, unsigned node, instant until)
{
    acquaintance& a = known_[client][node];
    a.trouble = std::max(a.trouble, until);
    a.proof = instant::max();
}

void checker::upset_node(unsigned node, instant until)
{
    for (unsigned c = 0; c < known_.size(); ++c) {
        upset(c, node, until);
    }
}

void checker::upset_client(unsigned client, instant until)
{
    for (unsigned n = 0; n < known_[client].size(); ++n) {
        upset(client, n, until);
    }
}

void checker::fall_ill(unsigned node)
{
    ill_ |= 1U << node;
    were_ill_ |= ill_;
    upset_node(node, w_.now());
}

void checker::heal(unsigned node)
{
    ill_ &= ~(1U << node);
    upset_node(node, w_.now());
}

bool checker::can_be_served(unsigned client) const
{
    std::uint32_t able = healthy_since(client, w_.now());
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        const bool may_vote = !w_.planned().fencing || !w_.servers[n]->is_out_of_date();
        able &= may_vote ? ~0U : ~(1U << n);
    }
    return count_of(able) >= quorum();
}

void checker::upset_if_late(unsigned client, unsigned node, instant arrival)
{
    if (arrival - w_.now() > late) {
        upset(client, node, arrival);
    }
}

void checker::deceive(unsigned client, unsigned node)
{
    deceived_[client] |= 1U << node;
    upset(client, node, w_.now());
}

void checker::mend(unsigned client, unsigned node)
{
    if ((deceived_[client] & (1U << node)) != 0) {
        upset(client, node, w_.now());
        deceived_[client] &= ~(1U << node);
    }
}

void checker::on_birth(unsigned client)
{
    born_[client] = w_.now();
    heard_[client] = 0;
    for (acquaintance& a : known_[client]) {
        a.proof = instant::max();
    }
}

void checker::on_heard(unsigned client, unsigned node)
{
    heard_[client] |= 1U << node;
}

/// A reply proves the node healthy if the node executed its command after the last fault and after
/// every message of that time had arrived.
void checker::on_proof(unsigned client, unsigned node, instant done)
{
    acquaintance& a = known_[client][node];
    if (a.proof == instant::max() && done > a.trouble + w_.planned().longest_way) {
        a.proof = w_.now();
    }
}

void checker::on_given_up(unsigned client, unsigned node) const
{
    const bool deceived = ((deceived_[client] | ill_) & (1U << node)) != 0;
    const instant trouble = std::max(known_[client][node].trouble, born_[client]);
    if (!deceived && !w_.clients[client]->is_ending() && trouble + convalescence <= w_.now()) {
        fail("c" + std::to_string(client) + ": gave a connection up that was well");
    }
}

bool checker::is_well(unsigned client, unsigned node, instant since) const
{
    if (w_.planned().is_tight() || ((deceived_[client] | ill_) & (1U << node)) != 0 ||
        !is_known_to_vote(node, since)) {
        return false;
    }
    const acquaintance& a = known_[client][node];
    const bool is_proved = a.proof != instant::max() && a.proof + after_a_proof <= since;
    return is_proved || std::max(a.trouble, born_[client]) + convalescence <= since;
}

std::uint32_t checker::healthy_since(unsigned client, instant begun) const
{
    std::uint32_t healthy = 0;
    for (unsigned n = 0; n < known_[client].size(); ++n) {
        healthy |= is_well(client, n, begun) ? 1U << n : 0U;
    }
    return healthy;
}

/// An acquire with enough time also waits for the first connections.
std::uint32_t checker::healthy_for(const call& c) const
{
    std::uint32_t healthy = healthy_since(c.client, c.begun);
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        // A node whose date is far too early cannot follow the counters of the others.
        const bool may_not_vote = c.what == core::operation::kind::acquire &&
                                  w_.planned().fencing && w_.servers[n]->is_out_of_date();
        healthy &= may_not_vote ? ~(1U << n) : ~0U;
    }
    if (c.what != core::operation::kind::acquire || c.deadline < first_connections ||
        w_.planned().is_tight()) {
        return healthy;
    }
    for (unsigned n = 0; n < known_[c.client].size(); ++n) {
        const bool never_ill = known_[c.client][n].trouble <= born_[c.client] &&
                               (ill_ & (1U << n)) == 0 && is_known_to_vote(n, born_[c.client]);
        const bool may_vote = !w_.planned().fencing || !w_.servers[n]->is_out_of_date();
        healthy |= never_ill && may_vote ? 1U << n : 0U;
    }
    return healthy;
}

// The restart guard.

std::string checker::marker_key() const
{
    return w_.planned().key_prefix + "redlock:admitted";
}

std::string checker::undated_marker_of(std::string_view run_id) const
{
    return std::string(run_id) + " nodes=" + std::to_string(w_.planned().nodes) +
           " max_ttl=" + std::to_string(w_.planned().longest_ttl().count()) +
           " drift=" + std::to_string(std::llround(w_.planned().drift_factor * 1e9)) + " since=";
}

bool checker::is_of_the_guard(std::string_view key) const
{
    key.remove_prefix(std::min(key.size(), w_.planned().key_prefix.size()));
    return key == "redlock:admitted" || key.starts_with("redlock:pending:");
}

/// No node votes before every lease that it may have forgotten has ended.
void checker::on_guard_change(unsigned node, const std::string& key,
                              const test::model_master::entry* after)
{
    if (key != marker_key()) {
        return;
    }
    admitted_[node] = instant::max();
    const std::string undated = undated_marker_of(w_.servers[node]->master.run_id);
    if (after == nullptr || !after->value.starts_with(undated)) {
        return;
    }
    admitted_[node] = w_.now();
    for (const auto& [other, e] : w_.servers[node]->master.all()) {
        if (!is_of_the_guard(other)) {
            tokens_[e.value].proven_on |= 1U << node;
        }
    }
    if (w_.now() < lost_[node] + w_.planned().longest_ttl() &&
        w_.planned().outside != beyond::admitted_at_once) {
        fail("n" + std::to_string(node) + ": was admitted too early");
    }
}

void checker::on_restart(unsigned node)
{
    admitted_[node] = instant::max();
}

void checker::on_loss(unsigned node)
{
    admitted_[node] = instant::max();
    lost_[node] = w_.now();
}

/// Clients read a node's marker only now and then, so they learn late what another client wrote.
bool checker::is_known_to_vote(unsigned node, instant since) const
{
    constexpr nanos until_it_is_heard_of = 1200ms;
    return !w_.planned().guard || admitted_[node] == instant{} ||
           (admitted_[node] != instant::max() && admitted_[node] + until_it_is_heard_of <= since);
}

/// Whether a node that may have had the token's key has lost it.
bool checker::has_lost(const token_users& users) const
{
    return std::any_of(lost_.begin(), lost_.end(),
                       [&](instant lost) { return lost >= users.first_set; });
}

/// The nodes that back a belief. They have its key and were admitted when they got it. Or they lost
/// such a key and have no vote before the belief ends.
unsigned checker::nodes_that_count(const belief& b) const
{
    const std::uint32_t having = holders(b.resource, b.token, b.until);
    const auto at = tokens_.find(b.token);
    if (!w_.planned().guard || at == tokens_.end()) {
        return count_of(having);
    }
    const token_users& users = at->second;
    std::uint32_t forgot = 0;
    for (unsigned n = 0; n < lost_.size(); ++n) {
        const bool in_time =
            lost_[n] >= users.first_set && b.until <= lost_[n] + w_.planned().longest_ttl();
        forgot |= in_time ? 1U << n : 0U;
    }
    return count_of((having | forgot) & users.proven_on);
}

// Keys.

std::string checker::resource_of(const std::string& key) const
{
    return key.substr(w_.planned().key_prefix.size());
}

void checker::on_reply(link& l, const test::words& command, std::string_view reply)
{
    using kind = vote::kind;
    const bool is_error = reply.starts_with('-');
    const bool tells_role =
        command.front() == "ROLE" || ((command.front() == "HELLO" || command.front() == "INFO") &&
                                      reply.find("role") != reply.npos);
    const bool is_no_master = tells_role && w_.servers[l.node]->master.role != "master";
    if (is_no_master || reply.starts_with("-READONLY") || reply.starts_with("-LOADING")) {
        l.is_left = true;
    }
    if (command.front() == "SET" && !is_of_the_guard(command.at(1))) {
        const bool was_refused = reply.starts_with('_') || reply.starts_with("$-1");
        on_set(l.client, l.node, command.at(2), is_error, was_refused,
               std::span(command).subspan(1, 1));
        if (!is_error) {
            l.granted[command[1] + ":fencing"] = was_refused ? "" : command[2];
            l.votes.push_back({0, was_refused ? kind::refused : kind::granted, command[2]});
        }
    } else if (is_script(command, script_to_take) && !reply.starts_with("-NOSCRIPT")) {
        const std::size_t keys = std::stoul(command.at(2));
        const std::string& token = command.at(3 + keys);
        constexpr std::string_view granted = "*2\r\n:0\r\n";
        const bool was_refused = !reply.starts_with(granted);
        on_set(l.client, l.node, token, is_error, was_refused, std::span(command).subspan(3, keys));
        if (!is_error && was_refused) {
            l.votes.push_back({0, kind::refused, token});
        } else if (!is_error) {
            l.votes.push_back({0, kind::counted, token, counter_in(reply.substr(granted.size()))});
        }
    } else if (const auto tokens = tokens_of_release(command); !tokens.empty() && !is_error) {
        for (const std::string& token : tokens) {
            l.votes.push_back({0, kind::released, token});
        }
    } else if (!is_error) {
        if (command.front() == "INCR" && reply.starts_with(":1\r")) {
            on_begun(l, command.at(1));
        }
        on_counted(l, command, reply);
    }
}

/// The first INCR after a grant is the vote of that grant. An alignment names its token.
void checker::on_counted(link& l, const test::words& command, std::string_view reply)
{
    if (is_script(command, script_to_raise)) {
        const std::size_t keys = std::stoul(command.at(2));
        l.votes.push_back({0, vote::kind::counted, command.at(3 + keys), counter_in(reply)});
        return;
    }
    const bool is_script_of_it = is_script(command, script_to_count);
    if (!is_script_of_it && command.front() != "INCR") {
        return;
    }
    const auto granted = l.granted.find(command.at(is_script_of_it ? 3 : 1));
    if (granted != l.granted.end() && !granted->second.empty()) {
        l.votes.push_back({0, vote::kind::counted, granted->second, counter_in(reply)});
        l.granted.erase(granted);
    }
}

/// A client uses a plain INCR only on a counter that it knows to last. Exceptions: the node lost
/// the counter, or another client gave it a shorter life.
void checker::on_begun(link& l, const std::string& key) const
{
    if (w_.planned().outside != beyond::nothing) {
        return;
    }
    const bool has_a_life = w_.planned().counter_ttl == w_.planned().longest_counter_ttl;
    if (has_a_life && lost_[l.node] == instant{} && is_well(l.client, l.node, w_.now())) {
        fail("c" + std::to_string(l.client) + " increments the counter " + key + " on n" +
             std::to_string(l.node) + ", which has expired");
    }
    l.votes.push_back({0, vote::kind::begun, key});
}

void checker::on_votes(link& l, std::size_t bytes)
{
    l.heard += bytes;
    const instant now = w_.clients[l.client]->local_now();
    for (; !l.votes.empty() && l.votes.front().end <= l.heard; l.votes.pop_front()) {
        const vote& v = l.votes.front();
        if (v.what == vote::kind::begun) {
            begun_.push_back({w_.now() + until_mended, w_.now(), l.client, l.node, v.token});
            continue;
        }
        token_users& users = tokens_[v.token];
        const bool is_asked = (v.what == vote::kind::released) == users.is_released;
        // The client sent nothing to a node without a connection.
        if (!is_asked || v.is_unheard || l.dialled >= users.asked) {
            continue;
        }
        users.heard_for |= v.what == vote::kind::counted ? 1U << l.node : 0U;
        if (now < users.votes_until) {
            const bool is_for = v.what != vote::kind::refused;
            (is_for ? users.voted_for : users.voted_against) |= 1U << l.node;
            if (v.what == vote::kind::counted) {
                users.counted_on |= 1U << l.node;
                users.values[l.node] = v.value;
            }
        }
    }
}

void checker::on_set(unsigned client, unsigned node, const std::string& token, bool is_error,
                     bool was_refused, std::span<const std::string> keys)
{
    token_users& users = tokens_[token];
    if ((users.set_on & (1U << node)) != 0) {
        condemn("n" + std::to_string(node) + " was sent a SET a second time by c" +
                std::to_string(client));
    }
    users.set_on |= 1U << node;
    users.first_set = std::min(users.first_set, w_.now());
    users.set_at[node] = w_.now();
    users.granted_on |= was_refused || is_error ? 0U : 1U << node;
    if (!was_refused) {
        return;
    }
    users.refused_on |= 1U << node;
    for (const std::string& key : keys) {
        const auto& all = w_.servers[node]->master.all();
        const auto at = all.find(key);
        if (at != all.end() && !is_counter(key)) {
            users.in_the_way.emplace_back(node, at->second.value);
        }
    }
}

/// Whether the last attempt met only keys of earlier attempts of this acquire, although one of
/// these nodes was healthy and so got their release.
bool checker::has_met_itself_only(const call& c) const
{
    const auto users = tokens_.find(c.tokens.back());
    if (users == tokens_.end()) {
        return false;
    }
    const auto& met = users->second.in_the_way;
    const auto is_own = [&c](const auto& key) {
        return std::find(c.tokens.begin(), c.tokens.end(), key.second) != c.tokens.end();
    };
    const auto is_of_a_well_one = [&](const auto& key) {
        return is_well(c.client, key.first, c.begun);
    };
    return std::all_of(met.begin(), met.end(), is_own) &&
           std::any_of(met.begin(), met.end(), is_of_a_well_one);
}

void checker::on_change(unsigned node, const std::string& key,
                        const test::model_master::entry* before,
                        const test::model_master::entry* after, const test::session* by)
{
    if (is_counter(key)) {
        on_counter(node, key, before, after);
        return;
    }
    if (is_of_queue(key)) {
        if (after != nullptr && !after->end && key.ends_with(":redlock:ticket")) {
            fail("n" + std::to_string(node) + ": the ticket " + key + " has no ttl");
        }
        return;
    }
    const std::string who = "n" + std::to_string(node) + ": " +
                            (by == nullptr ? "by itself" : "by c" + std::to_string(by->client)) +
                            ", key " + resource_of(key);
    if (before != nullptr && after != nullptr && before->value != after->value) {
        condemn(who + ": one owner's key became another's");
    }
    if (by != nullptr && before != nullptr) {
        const auto users = tokens_.find(before->value);
        if (users == tokens_.end() || (users->second.clients & (1U << by->client)) == 0) {
            condemn(who + ": somebody else's key was deleted or changed");
        }
        const test::words& command = *w_.servers[node]->doing();
        if (std::find(command.begin(), command.end(), before->value) == command.end()) {
            condemn(who + ": was deleted or changed by who did not name its token");
        }
        users->second.deleted_on |= after == nullptr ? 1U << node : 0U;
    }
    changed_[resource_of(key)] = w_.now();
    if (after != nullptr) {
        if (by != nullptr && before == nullptr) {
            token_users& users = tokens_[after->value];
            const client& c = *w_.clients[by->client];
            users.clients |= 1U << by->client;
            users.proven_on |= admitted_[node] != instant::max() ? 1U << node : 0U;
            users.orphaned = users.orphaned || !c.is_alive() || c.generation() != by->life;
            const nanos ttl = after->end.value_or(instant::max()) - w_.servers[node]->local_now();
            const auto& asked = ttls_[{by->client, resource_of(key)}];
            if (std::find(asked.begin(), asked.end(), ttl) == asked.end()) {
                fail(who + ": has a ttl that nobody asked for");
            }
            users.longest_ttl = std::max(users.longest_ttl, ttl);
        }
        const instant now = w_.servers[node]->local_now();
        if (!after->end || *after->end > now + tokens_[after->value].longest_ttl) {
            condemn(who + ": lives longer than was asked for");
        }
    }
    const std::string resource = resource_of(key);
    for (const belief& b : beliefs_) {
        if (meet(b.resource, resource)) {
            check_majority(b);
        }
    }
}

/// A counter only grows, and vanishes only when it expires.
void checker::on_counter(unsigned node, const std::string& key,
                         const test::model_master::entry* before,
                         const test::model_master::entry* after) const
{
    const bool is_over = before != nullptr && w_.servers[node]->true_end(*before) <= w_.now();
    w_.counts.counters_expired += is_over && !w_.is_quiet();
    const std::string who = "n" + std::to_string(node) + ": the counter " + key;
    if (before != nullptr && !is_over && after != nullptr &&
        std::stoll(after->value) <= std::stoll(before->value)) {
        fail(who + " does not grow");
    }
}

std::uint32_t checker::holders(const std::string& resources, std::string_view token,
                               instant until) const
{
    std::uint32_t nodes = ~0U;
    for (const std::string& resource : parts_of(resources)) {
        nodes &= holders_of_one(resource, token, until);
    }
    return nodes;
}

/// The nodes that may have lost keys again since then.
std::uint32_t checker::rolled_back_since(instant then) const
{
    std::uint32_t nodes = 0;
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        nodes |= w_.servers[n]->was_rolled_back_since(then) ? 1U << n : 0U;
    }
    return nodes;
}

std::uint32_t checker::remains(const std::string& resources, std::string_view token) const
{
    std::uint32_t nodes = 0;
    for (const std::string& resource : parts_of(resources)) {
        nodes |= holders_of_one(resource, token, w_.now());
    }
    return nodes;
}

std::uint32_t checker::holders_of_one(const std::string& resource, std::string_view token,
                                      instant until) const
{
    const std::string key = w_.planned().key_prefix + resource;
    std::uint32_t nodes = 0;
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        const server& s = *w_.servers[n];
        const auto at = s.master.all().find(key);
        const bool has = at != s.master.all().end() && at->second.value == token &&
                         s.true_end(at->second) >= until;
        nodes |= has ? 1U << n : 0U;
    }
    return nodes;
}

void checker::orphan_tokens_of(unsigned client)
{
    for (auto& [token, users] : tokens_) {
        const bool its = (users.clients & (1U << client)) != 0;
        users.orphaned = users.orphaned || its;
        users.strays = users.strays || its;
    }
    // The client's last requests may still be on their way, and then no client releases their keys.
    std::erase_if(given_back_, [client](const given_back& g) { return g.client == client; });
}

void checker::orphan(std::string_view token, bool strays)
{
    token_users& users = tokens_[std::string(token)];
    users.orphaned = true;
    users.strays = users.strays || strays;
}

void checker::allow(std::string_view token, unsigned client)
{
    tokens_[std::string(token)].clients |= 1U << client;
}

void checker::allow_ttl(unsigned client, const std::string& resource, nanos ttl)
{
    ttls_[{client, resource}].push_back(ttl);
}

void checker::allow_ttl(std::string_view token, nanos ttl)
{
    nanos& longest = tokens_[std::string(token)].longest_ttl;
    longest = std::max(longest, ttl);
}

void checker::nothing_left_of(unsigned client, instant since)
{
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        const server& s = *w_.servers[n];
        for (const auto& [key, e] : s.master.all()) {
            if (is_counter(key) || is_of_the_guard(key) || is_of_queue(key)) {
                continue;
            }
            const token_users& users = tokens_[e.value];
            if (users.clients == 1U << client && !users.orphaned &&
                is_well(client, n, std::min(since, users.first_set)) &&
                s.master.find(s.local_now(), key) != nullptr) {
                fail("n" + std::to_string(n) + " still has the key " + resource_of(key) +
                     ", though c" + std::to_string(client) + " gave it back before it ended");
            }
        }
    }
}

void checker::nothing_left()
{
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        server& s = *w_.servers[n];
        for (const auto& [key, e] : s.master.all()) {
            // The client that must give the counter a ttl may have ended, or may not know that the
            // counter lacks one.
            const fault_set harmless = only(fault::forget) | only(fault::split) |
                                       only(fault::clock_rate) | only(fault::clock_offset) |
                                       only(fault::drop) | only(fault::hand_over);
            if (is_counter(key) && !e.end && (w_.planned().faults & ~harmless) == 0 &&
                (were_ill_ & (1U << n)) == 0) {
                fail("n" + std::to_string(n) + ": the counter " + key + " would stay for ever");
            }
            // A ticket that its client could not return ends with its ttl.
            if (!is_counter(key) && !is_of_the_guard(key) && !is_of_queue(key) &&
                s.master.find(s.local_now(), key) != nullptr && !tokens_[e.value].orphaned) {
                fail("n" + std::to_string(n) + " still has the key " + resource_of(key) +
                     ", though everything was given back");
            }
        }
    }
}

// Beliefs in leases.

unsigned checker::begin_belief(unsigned client, unsigned owner, const std::string& resource,
                               std::string_view token, instant until)
{
    token_users& users = tokens_[std::string(token)];
    users.clients |= 1U << client;
    users.orphaned = users.strays;
    users.had = true;
    const belief b{++ids_, client, resource, std::string(token), until, owner};
    check_begun(b);
    check_exclusion(b);
    w_.counts.overlaps += static_cast<std::uint64_t>(std::any_of(
        beliefs_.begin(), beliefs_.end(), [&](const belief& other) { return overlap(other, b); }));
    beliefs_.push_back(b);
    check_majority(b);
    return b.id;
}

void checker::prolong_belief(unsigned id, instant until)
{
    for (belief& b : beliefs_) {
        if (b.id == id) {
            b.until = std::max(b.until, until);
            check_begun(b);
            check_exclusion(b);
            check_majority(b);
        }
    }
}

void checker::end_belief(unsigned id)
{
    std::erase_if(beliefs_, [&](const belief& b) {
        if (b.id == id) {
            led_[{b.client, b.resource}] = w_.now();
        }
        return b.id == id;
    });
}

void checker::end_beliefs_of(unsigned client)
{
    std::erase_if(beliefs_, [client](const belief& b) { return b.client == client; });
}

/// No operation reports success for a lease that has ended.
void checker::check_begun(const belief& b) const
{
    if (b.until < w_.now()) {
        fail("c" + std::to_string(b.client) + ": was told that it holds " + b.resource +
             ", whose lease was over");
    }
}

/// No client believes in a lease that has ended before its caller hears of it. Tasks share a lease
/// only for the same reentrant owner.
bool checker::overlap(const belief& one, const belief& other) const
{
    const bool is_the_same =
        one.client == other.client && one.owner == other.owner && one.token == other.token;
    return !is_the_same && meet(one.resource, other.resource) && one.until > w_.now() &&
           other.until > w_.now();
}

/// Across all clients, at most one lease of a resource is valid at one instant.
void checker::check_exclusion(const belief& b) const
{
    for (const belief& other : beliefs_) {
        if (!w_.planned().only_tokens && overlap(other, b)) {
            const std::string what = "c" + std::to_string(b.client) + " and c" +
                                     std::to_string(other.client) +
                                     " both believe that they hold " + b.resource;
            w_.say("VIOLATION: ", what);
            throw double_lease(what);
        }
    }
}

/// A majority backs a lease for as long as it is valid.
void checker::check_majority(const belief& b) const
{
    if (w_.planned().outside != beyond::nothing || b.until <= w_.now()) {
        return;
    }
    if (nodes_that_count(b) < quorum()) {
        fail("c" + std::to_string(b.client) + " believes that it holds " + b.resource +
             ", but no majority keeps it for so long");
    }
}

// Calls.

void checker::on_done(const call& c, const ending& e, instant may_last_until)
{
    const error_code& ec = e.error;
    if (w_.planned().only_tokens && w_.planned().outside != beyond::nothing) {
        if (c.what == core::operation::kind::acquire && !ec && e.held->within == nullptr) {
            check_token(c, e);
        }
        return;
    }
    if (w_.now() > may_last_until + scheduling) {
        fail("c" + std::to_string(c.client) + ": an operation ended after its deadline");
    }
    if (c.what == core::operation::kind::release) {
        check_nested_release(c, e);
        if (c.is_nested) {
            return;
        }
        on_given_back(c.client, c.resource, c.token, c.begun);
    } else if (c.what == core::operation::kind::acquire && ec && !c.tokens.empty() &&
               c.tokens.back() != c.token) {
        on_given_back(c.client, c.resource, c.tokens.back(), c.attempted);
    }
    if (ec == boost::system::errc::operation_canceled) {
        if (!c.cancelled) {
            fail("an operation was aborted that nobody had cancelled");
        }
        return;
    }
    if (ec == errc::closed) {
        const client& own = *w_.clients[c.client];
        const bool is_release = c.what == core::operation::kind::release;
        if (!(is_release ? own.is_broken_off() : own.is_ending())) {
            fail("c" + std::to_string(c.client) + ": closed, but nobody closes it");
        }
        return;
    }
    const bool healthy = count_of(healthy_for(c)) >= quorum() && !is_demanding(c);
    w_.counts.judged += healthy;
    switch (c.what) {
        case core::operation::kind::acquire: check_acquire(c, e, healthy); return;
        case core::operation::kind::adopt:
        case core::operation::kind::extend: check_extend(c, ec); return;
        case core::operation::kind::release: check_release(c, e); return;
        case core::operation::kind::inspect: check_inspection(c, e); return;
        case core::operation::kind::wait_lost: check_loss(c, ec); return;
        case core::operation::kind::renew: return;
    }
}

/// Whether the call asks for more validity than a healthy network leaves.
bool checker::is_demanding(const call& c) const
{
    const nanos most = w_.clients[c.client]->settings().validity(c.ttl);
    return c.what == core::operation::kind::acquire && c.min_validity > most - 100ms;
}

/// No two leases have the same fencing token, and a later lease has a larger one.
void checker::check_token(const call& c, const ending& e)
{
    if (!w_.planned().fencing) {
        return;
    }
    const instant begun = w_.clients[c.client]->true_time(e.held->t0);
    for (const std::string& resource : parts_of(c.resource)) {
        const std::string_view wrong =
            fencing_tokens_.note(resource, e.held->fencing_token, begun, w_.now());
        if (!wrong.empty()) {
            const std::string what = "c" + std::to_string(c.client) + ": acquiring " + c.resource +
                                     ": " + std::string(wrong);
            w_.say("VIOLATION: ", what);
            throw disorder(what);
        }
    }
}

/// Whether a counter on a node with a right date is about as far beyond this date as the client's
/// slack permits. Then some of these nodes may permit it, and others not.
bool checker::is_counter_ahead(const call& c) const
{
    const nanos slack = w_.clients[c.client]->settings().counter_slack;
    const std::int64_t limit = test::date_of(w_.now() + slack - w_.planned().counter_slack / 4);
    for (const std::string& resource : parts_of(c.resource)) {
        for (const auto& s : w_.servers) {
            const std::string counter =
                s->master.value(s->local_now(), w_.planned().key_prefix + resource + ":fencing");
            if (!s->is_out_of_date() && !counter.empty() && std::stoll(counter) > limit) {
                return true;
            }
        }
    }
    return false;
}

void checker::check_acquire(const call& c, const ending& e, bool healthy)
{
    const std::string who = "c" + std::to_string(c.client) + ": acquiring " + c.resource + ": ";
    const error_code& ec = e.error;
    const auto was_refused = [this](const std::string& token) {
        const auto users = tokens_.find(token);
        return users != tokens_.end() && users->second.refused_on != 0;
    };
    const bool refused = std::any_of(c.tokens.begin(), c.tokens.end(), was_refused);
    // An attempt may fail because not all nodes let their counters go as far as one of them did.
    const bool may_disagree = w_.planned().fencing && is_counter_ahead(c);
    if (c.attempts > c.most_attempts) {
        fail(who + "more attempts than allowed");
    }
    if (!ec) {
        if (e.held->within == nullptr) {
            check_token(c, e);
        }
        check_success(c, e, healthy && !refused && !may_disagree);
    } else if (ec == errc::held_in_part) {
        if (!w_.clients[c.client]->app().may_have_held_one_of(c.resource, c.task, c.begun)) {
            fail(who + "refused, though its owner held no part of it");
        }
    } else if (c.owned && (ec == errc::lost || !c.token.empty())) {
        check_hold(c, ec);
    } else if (ec == errc::too_many_waiters) {
        if (!c.is_too_many) {
            fail(who + "too many wait, but there was room in the line");
        }
    } else if (!c.owned && ec != errc::timed_out &&
               c.attempts != (c.deadline == nanos{} ? 1 : c.most_attempts)) {
        fail(who + ec.message() + ", with attempts left to make");
    } else if (ec == errc::contended) {
        // A node may answer a release with NOSCRIPT, and the next SET then meets the client's own
        // key. A client loads the scripts for several resources only when it uses them.
        const bool may_meet_itself =
            w_.planned().has(fault::script_flush) || parts_of(c.resource).size() > 1;
        if (c.tokens.empty() || !was_refused(c.tokens.back()) ||
            (!may_meet_itself && has_met_itself_only(c))) {
            fail(who + "contended, but nobody held it");
        }
    } else if (ec == errc::unavailable || ec == errc::expired) {
        // An acquire that meets other owners may fail to agree on a fencing token until its time is
        // over.
        if (healthy && !(refused && w_.planned().fencing) && !may_disagree) {
            fail(who + ec.message() + ", though a majority was healthy all the time");
        }
        if (ec == errc::expired) {
            check_expired(c, who);
        }
        if (ec == errc::unavailable && !c.tokens.empty() && c.tokens.size() == c.attempts) {
            check_unavailable(c, who);
        }
        const client& own = *w_.clients[c.client];
        const unsigned unheard = w_.planned().nodes - count_of(heard_[c.client]);
        const bool may_come = w_.now() < born_[c.client] + first_connections;
        if (may_come && unheard > w_.planned().nodes - quorum() &&
            own.local_now() < c.due - own.settings().node_timeout) {
            fail(who + ec.message() + ", though a majority was yet to be heard of");
        }
    } else if (ec == errc::timed_out) {
        if (healthy && !refused && !was_behind_others(c) && !was_behind_clients(c)) {
            fail(who + "timed out, though a majority was healthy and it was free");
        }
        const client& own = *w_.clients[c.client];
        if (own.local_now() + 1ms < c.due - own.settings().node_timeout) {
            fail(who + "timed out before its deadline");
        }
    } else {
        fail(who + "an unexpected error: " + ec.message());
    }
}

/// Checks that too few nodes answered in time. With fencing tokens a grant is a vote once it was
/// counted, and a majority of grants once it voted one token. Under the restart guard a grant needs
/// a proof too, so the check ignores grants.
void checker::check_unavailable(const call& c, const std::string& who) const
{
    const auto at = tokens_.find(c.token.empty() ? c.tokens.back() : c.token);
    if (at == tokens_.end()) {
        return;
    }
    const token_users& users = at->second;
    const bool is_acquire = c.what == core::operation::kind::acquire;
    std::uint32_t voted_for = users.voted_for;
    if (is_acquire && w_.planned().guard) {
        voted_for = 0;
    } else if (is_acquire && w_.planned().fencing) {
        voted_for &= users.counted_on;
        // The client may still count a late vote before it reads its clock.
        if (count_of(users.heard_for) >= quorum() && !has_agreed(users)) {
            return;
        }
    }
    if (count_of(voted_for | users.voted_against) >= quorum()) {
        fail(who + "unavailable, though a majority answered in time");
    }
}

/// Whether a majority voted one value.
bool checker::has_agreed(const token_users& users) const
{
    std::map<std::int64_t, unsigned> counts;
    for (const auto& [node, value] : users.values) {
        ++counts[value];
    }
    return std::any_of(counts.begin(), counts.end(), [this](const auto& voted) {
        return voted.first != 0 && voted.second >= quorum();
    });
}

/// The last attempt got a majority too late, or with too little validity.
void checker::check_expired(const call& c, const std::string& who) const
{
    const auto users = c.tokens.empty() ? tokens_.end() : tokens_.find(c.tokens.back());
    if (users == tokens_.end() || count_of(users->second.granted_on) < quorum()) {
        fail(who + "expired, though no majority granted it");
    }
}

/// Whether another acquire of this client had or wanted the resource until now, or until too little
/// time was left for an attempt.
bool checker::was_behind_others(const call& c) const
{
    const base::settings& s = w_.clients[c.client]->settings();
    const instant deadline = w_.clients[c.client]->true_time(c.due) - s.node_timeout;
    const bool has_asked = !c.tokens.empty();
    if (!c.may_wait || c.tokens.size() > 1 ||
        (has_asked && c.attempted + s.node_timeout <= deadline)) {
        return false;
    }
    const auto is_in_the_way = [&](const belief& b) {
        return b.client == c.client && b.resource == c.resource;
    };
    if (!has_asked && std::any_of(beliefs_.begin(), beliefs_.end(), is_in_the_way)) {
        return true;
    }
    const auto led = led_.find({c.client, c.resource});
    const instant others = has_asked           ? c.others_led
                           : led == led_.end() ? instant::min()
                                               : led->second;
    const instant until = has_asked ? c.attempted : w_.now();
    return others != instant::min() &&
           until <= others + 2 * s.node_timeout + std::max(s.backoff_max, s.max_poll_interval);
}

/// Whether the acquire only waited for its place while one of its resources was in use, or until
/// too little time had passed to find out that it was not.
bool checker::was_behind_clients(const call& c) const
{
    if (!c.tokens.empty()) {
        return false;
    }
    const base::settings& s = w_.clients[c.client]->settings();
    const auto parts = parts_of(c.resource);
    nanos of_dead_waiters = 500ms;
    for (const std::string& part : parts) {
        of_dead_waiters = std::max(of_dead_waiters, w_.time_to_pass_dead_waiters(part));
    }
    const nanos found =
        2 * s.node_timeout + std::max(s.backoff_max, s.max_poll_interval) + of_dead_waiters;
    const auto is_in_use = [&](const std::string& resource) {
        const std::string key = w_.planned().key_prefix + resource;
        const auto has_key = [&](const auto& s) {
            return s->master.find(s->local_now(), key) != nullptr;
        };
        if (std::ranges::any_of(w_.servers, has_key)) {
            return true;
        }
        const auto changed = changed_.find(resource);
        return changed != changed_.end() && w_.now() <= changed->second + found;
    };
    return w_.now() <= c.begun + found || std::any_of(parts.begin(), parts.end(), is_in_use);
}

/// Checks an acquire that did not get a further hold of its owner's lock.
void checker::check_hold(const call& c, const error_code& ec) const
{
    if (c.token.empty()) {
        // The acquire's own lease had ended before its caller could hear of it.
        if (c.tokens.empty()) {
            fail("c" + std::to_string(c.client) + ": acquiring " + c.resource +
                 ": lost, but nobody of its owner held it");
        }
        return;
    }
    call extend = c;
    extend.resource = c.whole;
    const bool is_late = ec == errc::expired || ec == errc::timed_out;
    if (!is_late) {
        check_extend(extend, ec);
    } else if (!is_demanding(c)) {
        check_extend(extend, errc::unavailable);
    }
}

/// A release with the result `still_held` deletes no key because other holds exist.
void checker::check_nested_release(const call& c, const ending& e) const
{
    const bool is_nested = !e.error && e.released == release_result::still_held;
    if (is_nested != c.is_nested) {
        fail("c" + std::to_string(c.client) + ": releasing " + c.resource +
             (is_nested ? ": nested, but nobody else holds it" : ": not nested, but it is held"));
    }
}

void checker::check_success(const call& c, const ending& e, bool at_once) const
{
    const std::string who = "c" + std::to_string(c.client) + ": acquiring " + c.resource + ": ";
    if (at_once && c.attempts > 1) {
        fail(who + "took more than one attempt, though a majority was healthy and it was free");
    }
    if (e.held->root().valid_until() - w_.clients[c.client]->local_now() < c.min_validity) {
        fail(who + "less validity is left than was wished for");
    }
}

void checker::check_extend(const call& c, const error_code& ec) const
{
    const std::string who = "c" + std::to_string(c.client) + ": extending " + c.resource + ": ";
    if (!ec) {
        return;
    }
    std::uint32_t having = holders(c.resource, c.token, w_.now());
    // An adopt asks the nodes, whatever the client believed before. Their answers may be too late,
    // or come before the SET of the client that had the lock.
    const bool is_adopt = c.what == core::operation::kind::adopt;
    if (const auto users = tokens_.find(c.token); is_adopt && users != tokens_.end()) {
        for (const auto& [node, at] : users->second.set_at) {
            having &= at > c.begun ? ~(1U << node) : ~0U;
        }
    }
    const bool may_be_believed =
        is_adopt ? c.begun + 100ms > w_.now() : c.believed_until > w_.now();
    if (ec == errc::lost) {
        if (may_be_believed && w_.planned().outside == beyond::nothing &&
            count_of(having & ~rolled_back_since(c.begun)) >= quorum()) {
            fail(who + "lost, but a majority has it");
        }
    } else if (ec == errc::unavailable) {
        const std::uint32_t healthy = healthy_for(c);
        if (count_of(healthy) == w_.planned().nodes ||
            count_of(healthy & having & c.had_by) >= quorum()) {
            fail(who + "unavailable, though a healthy majority has it");
        }
    } else if (ec != errc::not_held || c.what == core::operation::kind::adopt) {
        // No client releases a lock while another client adopts it.
        fail(who + "an unexpected error: " + ec.message());
    }
}

instant checker::now() const
{
    return w_.now();
}

void checker::on_attempt(call& c)
{
    const auto [led, is_first] = led_.try_emplace({c.client, c.resource}, w_.now());
    if (!is_first && c.tokens.size() == 1) {
        c.others_led = led->second;
    }
    led->second = w_.now();
    const client& own = *w_.clients[c.client];
    token_users& users = tokens_[c.tokens.back()];
    users.asked = w_.now();
    users.votes_until = own.local_now() + own.settings().node_timeout;
    const nanos until_decided = w_.clients[c.client]->settings().node_timeout + scheduling;
    expect_gone({w_.now() + until_decided + until_given_back, w_.now(), true, c.client, c.resource,
                 c.tokens.back()});
}

void checker::on_release(const call& c)
{
    const client& own = *w_.clients[c.client];
    token_users& users = tokens_[c.token];
    users.is_released = true;
    users.asked = w_.now();
    users.voted_for = users.voted_against = 0;
    users.votes_until = own.local_now() + own.settings().node_timeout;
}

void checker::on_given_back(unsigned client, const std::string& resource, std::string_view token,
                            instant since)
{
    expect_gone({w_.now() + until_given_back, since, false, client, resource, std::string(token)});
}

void checker::expect_gone(given_back g)
{
    if (w_.planned().outside != beyond::nothing) {
        return;
    }
    const auto behind =
        std::upper_bound(given_back_.begin(), given_back_.end(), g.due,
                         [](instant due, const given_back& other) { return due < other.due; });
    given_back_.insert(behind, std::move(g));
}

void checker::look_at(const given_back& g) const
{
    const auto users = tokens_.find(g.token);
    if (users == tokens_.end() || users->second.strays || (g.unless_had && users->second.had)) {
        return;  // its first owner may still set it, or will get the lock
    }
    const std::uint32_t having = remains(g.resource, g.token);
    if ((having & healthy_since(g.client, g.since)) != 0) {
        fail("c" + std::to_string(g.client) + ": a node that was well still has the key " +
             g.resource + ", which was given back");
    }
}

/// Checks the counter unless something went wrong between the client and the node since then.
void checker::look_at(const begun_counter& b) const
{
    const client& c = *w_.clients[b.client];
    // A half-open connection brings the news of the counter and swallows the repair.
    const std::uint32_t not_well = ill_ | deceived_[b.client];
    const bool is_sent = known_[b.client][b.node].trouble < b.heard && c.is_alive() &&
                         !c.is_ending() && born_[b.client] <= b.heard && lost_[b.node] <= b.heard &&
                         (not_well & (1U << b.node)) == 0;
    const auto& all = w_.servers[b.node]->master.all();
    const auto at = all.find(b.key);
    if (is_sent && at != all.end() && !at->second.end) {
        fail("n" + std::to_string(b.node) + ": the counter " + b.key +
             " would stay for ever, though c" + std::to_string(b.client) + " knows of it");
    }
}

void checker::check_release(const call& c, const ending& e)
{
    const std::string who = "c" + std::to_string(c.client) + ": releasing " + c.resource + ": ";
    const std::uint32_t healthy = healthy_for(c);
    if (e.error) {
        if (e.error != errc::unavailable) {
            fail(who + "an unexpected error: " + e.error.message());
        }
        if (count_of(healthy) >= quorum()) {
            fail(who + "unavailable, though a majority was healthy");
        }
        check_unavailable(c, who);
        return;
    }
    if (w_.planned().outside != beyond::nothing) {
        return;
    }
    const auto users = tokens_.find(c.token);
    const std::uint32_t deleted = users == tokens_.end() ? 0 : users->second.deleted_on;
    if (e.released == release_result::not_held) {
        if (c.believed_until > w_.now() && (users == tokens_.end() || !has_lost(users->second))) {
            fail(who + "not held, though it was to be held for longer");
        }
        if (count_of(deleted & healthy) >= quorum()) {
            fail(who + "not held, though a majority deleted it");
        }
    } else if (w_.planned().nodes - count_of(healthy & ~deleted) < quorum()) {
        // If a node has a fault, the client may not know whether the node deleted the key.
        fail(who + "released, though no majority deleted it");
    }
}

/// Checks a wait for the loss of a lock.
void checker::check_loss(const call& c, const error_code& ec) const
{
    const std::string who = "c" + std::to_string(c.client) + ": losing " + c.resource + ": ";
    if (ec != errc::lost) {
        if (ec != errc::not_held) {
            fail(who + "an unexpected error: " + ec.message());
        }
        return;
    }
    if (w_.planned().outside != beyond::nothing) {
        return;
    }
    const client& own = *w_.clients[c.client];
    const std::uint32_t having = holders(c.resource, c.token, w_.now());
    if (c.due > own.local_now() && count_of(having & ~rolled_back_since(c.begun)) >= quorum()) {
        fail(who + "told, but a majority has it");
    }
    // From one renewal to the end of the next when nothing is wrong.
    const nanos a_try = c.ttl / 12 + own.settings().node_timeout + 20ms;
    const std::uint32_t healthy = healthy_since(c.client, own.true_time(c.due - a_try));
    if (c.is_kept && count_of(healthy & having) >= quorum()) {
        fail(who + "not kept, though a healthy majority has it");
    }
}

/// If nothing was wrong and nothing changed, the inspection must be true.
void checker::check_inspection(const call& c, const ending& e) const
{
    const std::string who = "c" + std::to_string(c.client) + ": inspecting " + c.resource + ": ";
    if (e.error) {
        fail(who + e.error.message());
    }
    if (e.found.holder_group.has_value() != (e.found.state == lock_state::held)) {
        fail(who + "held by nobody, or not held by somebody");
    }
    if (count_of(healthy_for(c)) < w_.planned().nodes) {
        return;
    }
    const auto changed = changed_.find(c.resource);
    if (changed != changed_.end() && changed->second >= c.begun) {
        return;
    }
    const std::string key = w_.planned().key_prefix + c.resource;
    std::map<std::string_view, unsigned> owners;
    unsigned most = 0;
    for (const auto& s : w_.servers) {
        const auto at = s->master.all().find(key);
        if (at == s->master.all().end() || s->true_end(at->second) <= c.begun) {
            continue;
        }
        if (s->true_end(at->second) <= w_.now()) {
            return;  // the lock expired in the meantime
        }
        most = std::max(most, ++owners[at->second.value]);
    }
    if (e.found.state != (most >= quorum() ? lock_state::held : lock_state::free)) {
        fail(who + "not what all nodes have");
    }
    if (most >= quorum() && (!e.found.owner_known || e.found.agreeing < quorum())) {
        fail(who + "nobody knows whose it is, but all nodes do");
    }
}

}  // namespace redlock::sim
