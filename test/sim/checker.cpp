#include "sim/checker.hpp"

#include "sim/world.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <bit>

namespace redlock::sim {

using namespace std::chrono_literals;

namespace {

/// A message that takes longer may make a node fail.
constexpr nanos late = 10ms;

/// After a trouble has ended: until the connection stands again, at the latest.
constexpr nanos convalescence = 800ms;

unsigned count_of(std::uint32_t nodes)
{
    return static_cast<unsigned>(std::popcount(nodes));
}

/// Until a client that has just begun has a connection, when nothing is wrong.
constexpr nanos first_connections = 200ms;

/// What was asked before may time out still, and its node be left alone for a moment.
constexpr nanos after_a_proof = 60ms;

/// What a client's own scheduling may add to a deadline.
constexpr nanos scheduling = 5ms;

}  // namespace

checker::checker(world& w)
    : w_(w),
      known_(w.planned().clients, std::vector<acquaintance>(w.planned().nodes)),
      born_(w.planned().clients),
      heard_(w.planned().clients),
      deceived_(w.planned().clients)
{}

void checker::fail(const std::string& what) const
{
    w_.say("VIOLATION: ", what);
    throw violation(what);
}

unsigned checker::quorum() const
{
    return w_.planned().nodes / 2 + 1;
}

// ---- health

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

/// What was done when the last trouble was over and all that was on its way then had come, was asked
/// for behind it.
void checker::on_proof(unsigned client, unsigned node, instant done)
{
    acquaintance& a = known_[client][node];
    if (a.proof == instant::max() && done > a.trouble + w_.planned().longest_way) {
        a.proof = w_.now();
    }
}

void checker::on_given_up(unsigned client, unsigned node) const
{
    const bool deceived = (deceived_[client] & (1U << node)) != 0;
    const instant trouble = std::max(known_[client][node].trouble, born_[client]);
    if (!deceived && !w_.clients[client]->is_ending() && trouble + convalescence <= w_.now()) {
        fail("c" + std::to_string(client) + ": gave a connection up that was well");
    }
}

bool checker::is_well(unsigned client, unsigned node, instant since) const
{
    if (w_.planned().is_tight() || (deceived_[client] & (1U << node)) != 0) {
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

/// Who acquires waits for the first connections too, if there is the time.
std::uint32_t checker::healthy_for(const call& c) const
{
    std::uint32_t healthy = healthy_since(c.client, c.begun);
    if (c.what != core::operation::kind::acquire || c.deadline < first_connections ||
        w_.planned().is_tight()) {
        return healthy;
    }
    for (unsigned n = 0; n < known_[c.client].size(); ++n) {
        healthy |= known_[c.client][n].trouble <= born_[c.client] ? 1U << n : 0U;
    }
    return healthy;
}

// ---- keys

std::string checker::resource_of(const std::string& key) const
{
    return key.substr(w_.planned().key_prefix.size());
}

void checker::on_reply(unsigned client, unsigned node, const test::words& command,
                       std::string_view reply)
{
    if (command.front() != "SET") {
        return;
    }
    token_users& users = tokens_[command.at(2)];
    if ((users.set_on & (1U << node)) != 0) {
        fail("n" + std::to_string(node) + " was sent a SET a second time by c" +
             std::to_string(client));
    }
    users.set_on |= 1U << node;
    users.first_set = std::min(users.first_set, w_.now());
    const bool refused = reply.starts_with('_') || reply.starts_with("$-1");
    users.refused_on |= refused ? 1U << node : 0U;
}

void checker::on_change(unsigned node, const std::string& key,
                        const test::model_master::entry* before,
                        const test::model_master::entry* after, const test::session* by)
{
    const std::string who = "n" + std::to_string(node) + ": " +
                            (by == nullptr ? "by itself" : "by c" + std::to_string(by->client)) +
                            ", key " + key;
    if (before != nullptr && after != nullptr && before->value != after->value) {
        fail(who + ": one owner's key became another's");
    }
    if (by != nullptr && before != nullptr) {
        const auto users = tokens_.find(before->value);
        if (users == tokens_.end() || (users->second.clients & (1U << by->client)) == 0) {
            fail(who + ": somebody else's key was deleted or changed");
        }
        const test::words& command = *w_.servers[node]->doing();
        if (std::find(command.begin(), command.end(), before->value) == command.end()) {
            fail(who + ": was deleted or changed by who did not name its token");
        }
        users->second.deleted_on |= after == nullptr ? 1U << node : 0U;
    }
    changed_[resource_of(key)] = w_.now();
    if (after != nullptr) {
        if (by != nullptr && before == nullptr) {
            token_users& users = tokens_[after->value];
            const client& c = *w_.clients[by->client];
            users.clients |= 1U << by->client;
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
            fail(who + ": lives longer than was asked for");
        }
    }
    const std::string resource = resource_of(key);
    for (const belief& b : beliefs_) {
        if (b.resource == resource) {
            check_majority(b);
        }
    }
}

std::uint32_t checker::holders(const std::string& resource, std::string_view token,
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

unsigned checker::nodes_with(const std::string& resource, std::string_view token,
                             instant until) const
{
    return count_of(holders(resource, token, until));
}

void checker::orphan_tokens_of(unsigned client)
{
    for (auto& [token, users] : tokens_) {
        const bool its = (users.clients & (1U << client)) != 0;
        users.orphaned = users.orphaned || its;
        users.strays = users.strays || its;
    }
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
            const token_users& users = tokens_[e.value];
            if (users.clients == 1U << client && !users.orphaned &&
                is_well(client, n, std::min(since, users.first_set)) &&
                s.master.find(s.local_now(), key) != nullptr) {
                fail("n" + std::to_string(n) + " still has the key " + key + ", though c" +
                     std::to_string(client) + " gave it back before it ended");
            }
        }
    }
}

void checker::nothing_left()
{
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        server& s = *w_.servers[n];
        for (const auto& [key, e] : s.master.all()) {
            if (s.master.find(s.local_now(), key) != nullptr && !tokens_[e.value].orphaned) {
                fail("n" + std::to_string(n) + " still has the key " + key +
                     ", though everything was given back");
            }
        }
    }
}

// ---- beliefs

unsigned checker::begin_belief(unsigned client, const std::string& resource, std::string_view token,
                               instant until)
{
    token_users& users = tokens_[std::string(token)];
    users.clients |= 1U << client;
    users.orphaned = users.strays;
    const belief b{++ids_, client, resource, std::string(token), until};
    check_begun(b);
    check_exclusion(b);
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
    std::erase_if(beliefs_, [id](const belief& b) { return b.id == id; });
}

void checker::end_beliefs_of(unsigned client)
{
    std::erase_if(beliefs_, [client](const belief& b) { return b.client == client; });
}

/// Nobody is told of a success whose lease is over.
void checker::check_begun(const belief& b) const
{
    if (b.until < w_.now()) {
        fail("c" + std::to_string(b.client) + ": was told that it holds " + b.resource +
             ", whose lease was over");
    }
}

/// At most one lease of a resource is believed in at one instant, whoever believes.
void checker::check_exclusion(const belief& b) const
{
    for (const belief& other : beliefs_) {
        // A lease that has ended by the time its owner hears of it is believed in by nobody.
        if (other.id != b.id && other.resource == b.resource && other.until > w_.now() &&
            b.until > w_.now()) {
            const std::string what = "c" + std::to_string(b.client) + " and c" +
                                     std::to_string(other.client) +
                                     " both believe that they hold " + b.resource;
            w_.say("VIOLATION: ", what);
            throw double_lease(what);
        }
    }
}

/// What is believed in is held on a majority, for as long as it will be believed in.
void checker::check_majority(const belief& b) const
{
    if (w_.planned().outside != beyond::nothing || b.until <= w_.now()) {
        return;
    }
    if (nodes_with(b.resource, b.token, b.until) < quorum()) {
        fail("c" + std::to_string(b.client) + " believes that it holds " + b.resource +
             ", but no majority keeps it for so long");
    }
}

// ---- calls

void checker::on_done(const call& c, const ending& e, instant may_last_until)
{
    const error_code& ec = e.error;
    if (w_.now() > may_last_until + scheduling) {
        fail("c" + std::to_string(c.client) + ": an operation ended after its deadline");
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
    }
}

/// More validity is wished for than a well network leaves.
bool checker::is_demanding(const call& c) const
{
    const nanos most = w_.clients[c.client]->settings().validity(c.ttl);
    return c.what == core::operation::kind::acquire && c.min_validity > most - 100ms;
}

void checker::check_acquire(const call& c, const ending& e, bool healthy) const
{
    const std::string who = "c" + std::to_string(c.client) + ": acquiring " + c.resource + ": ";
    const error_code& ec = e.error;
    const auto was_refused = [this](const std::string& token) {
        const auto users = tokens_.find(token);
        return users != tokens_.end() && users->second.refused_on != 0;
    };
    const bool refused = std::any_of(c.tokens.begin(), c.tokens.end(), was_refused);
    if (c.attempts > c.most_attempts) {
        fail(who + "more attempts than allowed");
    }
    if (!ec) {
        check_success(c, e, healthy && !refused);
    } else if (ec == errc::contended) {
        if (c.tokens.empty() || !was_refused(c.tokens.back())) {
            fail(who + "contended, but nobody held it");
        }
    } else if (ec == errc::unavailable || ec == errc::expired) {
        if (healthy) {
            fail(who + ec.message() + ", though a majority was healthy all the time");
        }
        const client& own = *w_.clients[c.client];
        const unsigned unheard = w_.planned().nodes - count_of(heard_[c.client]);
        const bool may_come = w_.now() < born_[c.client] + first_connections;
        if (may_come && unheard > w_.planned().nodes - quorum() &&
            own.local_now() < c.due - own.settings().node_timeout) {
            fail(who + ec.message() + ", though a majority was yet to be heard of");
        }
    } else if (ec == errc::timed_out) {
        if (healthy && !refused) {
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

void checker::check_success(const call& c, const ending& e, bool at_once) const
{
    const std::string who = "c" + std::to_string(c.client) + ": acquiring " + c.resource + ": ";
    if (at_once && c.attempts > 1) {
        fail(who + "took more than one attempt, though a majority was healthy and it was free");
    }
    if (e.held->valid_until() - w_.clients[c.client]->local_now() < c.min_validity) {
        fail(who + "less validity is left than was wished for");
    }
}

void checker::check_extend(const call& c, const error_code& ec) const
{
    const std::string who = "c" + std::to_string(c.client) + ": extending " + c.resource + ": ";
    if (!ec) {
        return;
    }
    const std::uint32_t having = holders(c.resource, c.token, w_.now());
    // Who adopts asks the nodes, whatever was believed before; the answers may be too late.
    const bool may_be_believed = c.what == core::operation::kind::adopt
                                     ? c.begun + 100ms > w_.now()
                                     : c.believed_until > w_.now();
    if (ec == errc::lost) {
        if (may_be_believed && w_.planned().outside == beyond::nothing &&
            count_of(having) >= quorum()) {
            fail(who + "lost, but a majority has it");
        }
    } else if (ec == errc::unavailable) {
        const std::uint32_t healthy = healthy_for(c);
        if (count_of(healthy) == w_.planned().nodes ||
            count_of(healthy & having & c.had_by) >= quorum()) {
            fail(who + "unavailable, though a healthy majority has it");
        }
    } else if (ec != errc::not_held) {
        fail(who + "an unexpected error: " + ec.message());
    }
}

instant checker::now() const
{
    return w_.now();
}

void checker::look_at(const past_release& r) const
{
    const auto users = tokens_.find(r.token);
    if (users == tokens_.end() || users->second.strays) {
        return;  // its first owner may set it yet
    }
    const std::uint32_t having = holders(r.resource, r.token, w_.now());
    if ((having & healthy_since(r.client, r.begun)) != 0) {
        fail("c" + std::to_string(r.client) + ": a node that was well still has the key " +
             r.resource + ", which was released");
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
        return;
    }
    if (w_.planned().outside != beyond::nothing) {
        return;
    }
    const auto users = tokens_.find(c.token);
    const std::uint32_t deleted = users == tokens_.end() ? 0 : users->second.deleted_on;
    releases_.push_back({w_.now() + 60ms, c.begun, c.client, c.resource, c.token});
    if (e.released == release_result::not_held) {
        if (c.believed_until > w_.now()) {
            fail(who + "not held, though it was to be held for longer");
        }
        if (count_of(deleted & healthy) >= quorum()) {
            fail(who + "not held, though a majority deleted it");
        }
    } else if (w_.planned().nodes - count_of(healthy & ~deleted) < quorum()) {
        // Of a node in trouble nobody may know whether it has deleted it.
        fail(who + "released, though no majority deleted it");
    }
}

/// Where nothing was wrong and nothing has changed, it is the truth.
void checker::check_inspection(const call& c, const ending& e) const
{
    const std::string who = "c" + std::to_string(c.client) + ": inspecting " + c.resource + ": ";
    if (e.error) {
        fail(who + e.error.message());
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
            return;  // it has expired in the meantime
        }
        most = std::max(most, ++owners[at->second.value]);
    }
    if (e.found.state != (most >= quorum() ? holding::held : holding::free)) {
        fail(who + "not what all nodes have");
    }
    if (most >= quorum() && (!e.found.owner_known || e.found.agreeing < quorum())) {
        fail(who + "nobody knows whose it is, but all nodes do");
    }
}

}  // namespace redlock::sim
