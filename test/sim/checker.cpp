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

/// What a client's own scheduling may add to a deadline.
constexpr nanos scheduling = 5ms;

}  // namespace

checker::checker(world& w)
    : w_(w),
      trouble_(w.planned().clients, std::vector<instant>(w.planned().nodes)),
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
    trouble_[client][node] = std::max(trouble_[client][node], until);
}

void checker::upset_node(unsigned node, instant until)
{
    for (unsigned c = 0; c < trouble_.size(); ++c) {
        upset(c, node, until);
    }
}

void checker::upset_client(unsigned client, instant until)
{
    for (unsigned n = 0; n < trouble_[client].size(); ++n) {
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
}

void checker::mend(unsigned client, unsigned node)
{
    upset(client, node, w_.now());
    deceived_[client] &= ~(1U << node);
}

void checker::on_given_up(unsigned client, unsigned node) const
{
    const bool deceived = (deceived_[client] & (1U << node)) != 0;
    if (!deceived && trouble_[client][node] + convalescence <= w_.now()) {
        fail("c" + std::to_string(client) + ": gave a connection up that was well");
    }
}

/// Nodes that nothing has kept from answering this client since then.
unsigned checker::healthy_since(unsigned client, instant begun) const
{
    unsigned healthy = 0;
    for (unsigned n = 0; n < trouble_[client].size(); ++n) {
        const bool deceived = (deceived_[client] & (1U << n)) != 0;
        healthy += !deceived && trouble_[client][n] + convalescence <= begun ? 1U : 0U;
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
    std::uint32_t& set_on = tokens_[command.at(2)].set_on;
    if ((set_on & (1U << node)) != 0) {
        fail("n" + std::to_string(node) + " was sent a SET a second time by c" +
             std::to_string(client));
    }
    set_on |= 1U << node;
    if (reply.starts_with('_') || reply.starts_with("$-1")) {
        ++refusals_[{client, resource_of(command[1])}];
    }
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
    }
    if (after != nullptr) {
        if (by != nullptr && before == nullptr) {
            token_users& users = tokens_[after->value];
            const client& c = *w_.clients[by->client];
            users.clients |= 1U << by->client;
            users.orphaned = users.orphaned || !c.is_alive() || c.generation() != by->life;
        }
        const auto longest = w_.servers[node]->local_now() + w_.planned().longest_ttl();
        if (!after->end || *after->end > longest) {
            fail(who + ": lives longer than any ttl");
        }
    }
    const std::string resource = resource_of(key);
    for (const belief& b : beliefs_) {
        if (b.resource == resource) {
            check_majority(b);
        }
    }
}

unsigned checker::nodes_with(const std::string& resource, std::string_view token,
                             instant until) const
{
    const std::string key = w_.planned().key_prefix + resource;
    unsigned count = 0;
    for (const auto& s : w_.servers) {
        const auto at = s->master.all().find(key);
        count += at != s->master.all().end() && at->second.value == token &&
                         s->true_end(at->second) >= until
                     ? 1U
                     : 0U;
    }
    return count;
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
        if (other.id != b.id && other.resource == b.resource && other.token != b.token &&
            other.until > w_.now() && b.until > w_.now()) {
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

void checker::on_begun(call& c)
{
    c.refusals_before = refusals_[{c.client, c.resource}];
}

void checker::on_done(const call& c, const error_code& ec, release_result released,
                      instant may_last_until)
{
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
        return;  // only by its client's end: the client looks after that
    }
    const bool refused = refusals_[{c.client, c.resource}] > c.refusals_before;
    const bool healthy = healthy_since(c.client, c.begun) >= quorum();
    switch (c.what) {
        case core::operation::kind::acquire: check_acquire(c, ec, healthy, refused); return;
        case core::operation::kind::adopt:
        case core::operation::kind::extend: check_extend(c, ec); return;
        case core::operation::kind::release: check_release(c, ec, released); return;
        case core::operation::kind::inspect:
            if (ec) {
                fail("an inspect failed: " + ec.message());
            }
            return;
    }
}

void checker::check_acquire(const call& c, const error_code& ec, bool healthy, bool refused) const
{
    const std::string who = "c" + std::to_string(c.client) + ": acquiring " + c.resource + ": ";
    if (c.attempts > c.most_attempts) {
        fail(who + "more attempts than allowed");
    }
    if (!ec) {
        if (healthy && !refused && c.attempts > 1) {
            fail(who + "took more than one attempt, though a majority was healthy and it was free");
        }
        return;
    }
    if (ec == errc::contended) {
        if (!refused) {
            fail(who + "contended, but nobody held it");
        }
    } else if (ec == errc::unavailable || ec == errc::expired) {
        if (healthy) {
            fail(who + ec.message() + ", though a majority was healthy all the time");
        }
    } else if (ec == errc::timed_out) {
        if (healthy && !refused) {
            fail(who + "timed out, though a majority was healthy and it was free");
        }
    } else {
        fail(who + "an unexpected error: " + ec.message());
    }
}

void checker::check_extend(const call& c, const error_code& ec) const
{
    const std::string who = "c" + std::to_string(c.client) + ": extending " + c.resource + ": ";
    if (!ec) {
        return;
    }
    // Who adopts asks the nodes, whatever was believed before; the answers may be too late.
    const bool may_be_believed = c.what == core::operation::kind::adopt
                                     ? c.begun + 100ms > w_.now()
                                     : c.believed_until > w_.now();
    if (ec == errc::lost) {
        if (may_be_believed && w_.planned().outside == beyond::nothing &&
            nodes_with(c.resource, c.token, w_.now()) >= quorum()) {
            fail(who + "lost, but a majority has it");
        }
    } else if (ec == errc::unavailable) {
        if (healthy_since(c.client, c.begun) == w_.planned().nodes) {
            fail(who + "unavailable, though every node was healthy");
        }
    } else if (ec != errc::not_held) {
        fail(who + "an unexpected error: " + ec.message());
    }
}

void checker::check_release(const call& c, const error_code& ec, release_result released) const
{
    const std::string who = "c" + std::to_string(c.client) + ": releasing " + c.resource + ": ";
    if (ec) {
        if (ec != errc::unavailable) {
            fail(who + "an unexpected error: " + ec.message());
        }
        if (healthy_since(c.client, c.begun) >= quorum()) {
            fail(who + "unavailable, though a majority was healthy");
        }
        return;
    }
    if (released == release_result::not_held && c.believed_until > w_.now() &&
        w_.planned().outside == beyond::nothing) {
        fail(who + "not held, though it was to be held for longer");
    }
}

}  // namespace redlock::sim
