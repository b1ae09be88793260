#include "world.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

// The rules, checked after each step and for each operation that ends.
namespace redlock::test {

using core::bit;
using core::node_mask;
using kind = core::operation::kind;

void world::take_finished()
{
    note_validity();
    tell_losses();
    while (core::operation* op = core_.operations().take_finished(now_)) {
        caller& c = *static_cast<caller*>(op->user);
        require(++c.completions == 1, "an operation ends once");
        if (c.what != kind::wait_lost) {
            check_losses_are_told();
        }
        conclude(c, *op);
        c.op = nullptr;
        core_.operations().recycle(*op);
    }
}

/// A wait for a loss must end when the last known validity ends.
void world::note_validity()
{
    for (caller& c : callers_) {
        const bool waits = !c.done() && c.what == kind::wait_lost && c.op != nullptr;
        if (waits && c.op->subject->root().valid_until() != instant{}) {
            c.due = c.op->subject->root().valid_until();
        }
    }
}

/// Reports losses before anything else.
void world::tell_losses()
{
    core_.check_leases(now_);
    for (core::renewal_news news; core_.take_news(news);) {
        const bool is_held = std::any_of(held_.begin(), held_.end(), [&](const core::lease* l) {
            return &l->root() == news.of;
        });
        // A lock that is released after its end is lost too.
        require(is_held || is_held_besides(*news.of) || news.outcome == renewal_outcome::lost,
                "what is not held is not renewed");
        core_.forget(news);
    }
}

void world::check_losses_are_told() const
{
    for (const caller& c : callers_) {
        const bool waits = !c.done() && c.what == kind::wait_lost && c.op != nullptr &&
                           (c.op->renewal != nullptr || c.op->error == errc::lost);
        require(!waits || c.due > now_, "a loss is told before anything else");
    }
}

instant world::validity_end(instant t0, nanos ttl) const
{
    return test::validity_end(t0, ttl, static_cast<int>(config_.drift_factor * 100));
}

node_mask world::nodes_that(bool (peer::*may)() const) const
{
    node_mask all = 0;
    for (unsigned i = 0; i < peers_.size(); ++i) {
        all |= (*peers_[i].*may)() ? bit(i) : 0;
    }
    return all;
}

void world::conclude(caller& c, core::operation& op)
{
    if (with_reports) {
        check_report(c, op);
    }
    if (op.error) {
        require(op.subject == nullptr, "a failure holds nothing");
        check_text(op.error.message());
        check_loss(c, op.error);
        return;
    }
    switch (c.what) {
        case kind::acquire:
            conclude_acquire(c, *op.subject);
            held_.push_back(op.subject);
            return;
        case kind::adopt:
            conclude_adopt(c, *op.subject);
            held_.push_back(op.subject);
            return;
        case kind::extend: conclude_extend(c); return;
        case kind::release: conclude_release(c, op.released); return;
        case kind::inspect: check_inspection(*op.inspection); return;
        case kind::wait_lost: require(false, "a wait for a loss ends for a reason"); return;
        case kind::renew: return;
    }
}

void world::conclude_acquire(const caller& c, const core::lease& l)
{
    const std::string token(l.token.view());
    require(l.root().valid_until() > now_, "a lock that is had is valid");
    require(ledger_.is_majority(may_have_granted(token)), "a lock is granted by a majority");
    if (l.within != nullptr) {
        conclude_hold(c, l);
        return;
    }
    const auto all = l.resources();
    require(std::equal(all.begin(), all.end(), c.resources.begin(), c.resources.end()),
            "a lock is of what was asked for");
    check_token(c, l);
    const instant asked = ledger_.asked_at(token).value_or(now_);
    if (c.owner != whose::nobodys) {
        owner_of_[token] = c.owner;  // and other holds of the owner may renew or extend it
    } else if (!c.keeps) {
        believed_until_[token] = validity_end(asked, c.ttl);
    } else if (c.keeps->max_hold) {
        believed_until_[token] = asked + *c.keeps->max_hold;
    }
}

/// Checks a further hold of a lock.
void world::conclude_hold(const caller& c, const core::lease& l) const
{
    const core::lease& root = l.root();
    const auto owner = owner_of_.find(root.token.view());
    require(l.token.view() == root.token.view(), "a further hold has the lock's token");
    require(owner != owner_of_.end() && owner->second == c.owner && c.owner != whose::nobodys,
            "only who has a lock holds it once more");
    const auto all = root.resources();
    for (const std::string& name : c.resources) {
        require(std::find(all.begin(), all.end(), name) != all.end(),
                "a further hold is of what the lock is of");
    }
}

/// The fencing tokens of a resource differ, and each is larger than all that were known before.
void world::check_token(const caller& c, const core::lease& l)
{
    if (!c.fencing) {
        require(l.fencing_token == 0, "no fencing token that was not asked for");
        return;
    }
    if (lied) {
        return;
    }
    // The order also counts within one instant, so positions replace time.
    const instant begun{nanos{static_cast<std::int64_t>(c.place)}};
    const instant told{nanos{static_cast<std::int64_t>(++places_)}};
    for (const std::string& name : c.resources) {
        require(fencing_tokens_.note(name, l.fencing_token, begun, told).empty(),
                "a fencing token is larger than all that were known");
    }
}

void world::conclude_adopt(const caller& c, const core::lease& l)
{
    require(l.valid_until() > now_, "a lock that is had is valid");
    require(l.token.view() == c.token, "a lock is adopted by its token");
    require(ledger_.extended(c.token, c.begun, doubtful_grants()),
            "a lock is adopted by a majority");
    const instant end = validity_end(c.begun, c.ttl);
    if (const auto at = believed_until_.find(c.token); at != believed_until_.end()) {
        at->second = std::max(at->second, end);
    } else if (!lied && left_.contains(c.token)) {
        believed_until_.emplace(c.token, end);  // no other client renews or extends it
    }
}

void world::conclude_extend(const caller& c)
{
    require(ledger_.extended(c.token, c.begun, doubtful_grants()),
            "an extend is said to be done by a majority");
    if (const auto at = believed_until_.find(c.token); at != believed_until_.end()) {
        at->second = std::max(at->second, validity_end(c.begun, c.ttl));
    }
}

void world::conclude_release(const caller& c, release_result said) const
{
    require((said == release_result::still_held) == (c.is_nested && !c.is_left),
            "all holds but the last are nested");
    require(!c.is_left || said == release_result::not_held, "what was handed over is not held");
    const node_mask outlived = ledger_.outlived(c.token, now_, settings_.stall_timeout);
    require(c.is_nested || c.is_left || ledger_.is_given_back(c.token, doubtful() | outlived),
            "a release is said to be done by enough nodes");
}

/// Checks the result of an operation on a lost lock.
void world::check_loss(const caller& c, error_code why) const
{
    const bool was_left = left_.contains(c.token);
    const bool speaks_of_one = c.what == kind::wait_lost || c.what == kind::extend;
    if (!speaks_of_one || was_left) {
        return;
    }
    const bool is_held = std::find(held_.begin(), held_.end(), c.hold) != held_.end();
    require(why != errc::not_held || !is_held || lied, "what is held is not said not to be");
    require(why != errc::closed || closed_, "nothing ends with a client that does not end");
    const auto known = known_until_.find(c.lock);
    const bool is_over = known == known_until_.end() || known->second <= now_;
    require(why != errc::lost || is_over || ledger_.is_lost(c.token, doubtful()),
            "what is lost has ended, or is had by no majority");
}

void world::check_report(const caller& c, const core::operation& op)
{
    const redlock::report& r = c.report;
    require(r.nodes.empty() || r.nodes.size() == nodes(), "a report is of all nodes");
    require(r.nodes.empty() || stopped_ || !op.cancelled || op.error != op.cancelled,
            "a cancelled operation reports nothing");
    node_mask granted = 0;
    for (unsigned i = 0; i < r.nodes.size(); ++i) {
        check_text(r.nodes[i].error);
        check_text(r.nodes[i].node);
        require(r.nodes[i].error.size() <= 256, "an error text is short");
        require(r.nodes[i].elapsed >= 0us, "time does not go back");
        granted |= r.nodes[i].outcome == node_outcome::granted ? bit(i) : 0;
    }
    if (c.what == kind::acquire && !op.error && op.subject->within == nullptr) {
        require(ledger_.is_majority(granted), "a report shows the majority");
        const node_mask could = may_have_granted(op.subject->token.view());
        require((granted & ~could) == 0, "a report tells grants of those who said so");
    }
}

void world::check_inspection(const redlock::inspection& found) const
{
    require(found.agreeing + found.empty + found.silent <= nodes(), "a node is counted once");
    require(found.state != lock_state::held || found.agreeing >= settings_.quorum,
            "held is what a majority says");
    require(found.holder_group.has_value() == (found.state == lock_state::held),
            "who holds it is told where it is held, and nowhere else");
    require(!found.remaining || (found.state == lock_state::held && *found.remaining >= 0ms &&
                                 *found.remaining <= base::max_ttl),
            "a remaining ttl is one");
}

void world::check()
{
    check_stats();
    check_held();
}

void world::check_stats()
{
    const redlock::stats s = core_.snapshot();
    std::size_t asked = 0;
    std::size_t connected = 0;
    bool in_step = true;
    for (const auto& p : peers_) {
        for (const request& r : p->asked) {
            asked += locks_of(r.command);
        }
        connected += p->connected ? 1u : 0u;
        in_step = in_step && !p->writing && p->early.empty();
    }
    require(s.nodes_ready <= connected, "only a connected node is ready");
    require(!in_step || s.unanswered == asked, "each request waits for its reply");
    require(s.pending_releases <= nodes() * settings_.max_pending_releases,
            "pending releases are bounded");
    require(s.leases <=
                s.in_flight + held_.size() + s.unanswered + s.pending_releases + further_holds(),
            "a lease is kept by somebody");
    const auto under_way = static_cast<std::size_t>(
        std::count_if(callers_.begin(), callers_.end(), [](const caller& c) { return !c.done(); }));
    require(s.in_flight == under_way, "operations are counted");
}

/// Each hold has its own record. The record of its lock may have no other user.
std::size_t world::further_holds() const
{
    const auto had = std::count_if(held_.begin(), held_.end(),
                                   [](const core::lease* l) { return l->within != nullptr; });
    const auto asked = std::count_if(callers_.begin(), callers_.end(), [](const caller& c) {
        return c.op != nullptr && c.op->subject != nullptr && c.op->subject->within != nullptr;
    });
    return static_cast<std::size_t>(had + asked);
}

/// No lease is valid longer than its key lives or without a majority. No two leases of a resource
/// are valid at once while the nodes behave like nodes.
void world::check_held()
{
    std::map<std::string_view, std::string_view> holders;
    for (const core::lease* hold : held_) {
        const core::lease& l = hold->root();
        const std::string_view token = l.token.view();
        if (const auto at = believed_until_.find(token); at != believed_until_.end()) {
            require(l.valid_until() <= at->second,
                    "no lock is believed in for longer than its key lives");
        }
        require(l.valid_until() <= ledger_.backed_until(token, doubtful_grants()),
                "no lock is believed in for longer than a majority backs it");
        require((l.granted.load() & ~may_have_granted(token)) == 0,
                "only who was asked, and said so, has granted");
        if (l.valid_until() != instant{}) {
            known_until_.insert_or_assign(&l, l.valid_until());
        }
        if (lied || l.valid_until() <= now_) {
            continue;
        }
        for (const std::string& name : l.resources()) {
            require(holders.emplace(name, token).first->second == token, "one holder at a time");
        }
    }
}

/// Texts for logs and reports are one line without owner tokens and passwords.
void world::check_text(std::string_view text) const
{
    constexpr std::size_t telling = 20;
    // A node with arbitrary answers may by chance contain a part of it.
    const std::string_view part = node_password.substr(0, lied ? std::string_view::npos : 7);
    require(text.find(part) == std::string_view::npos, "no password in a text");
    std::size_t digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        require(c >= 0x20 && c != 0x7f, "no control character in a text");
        digits = std::isxdigit(c) != 0 ? digits + 1 : 0;
        require(digits < telling || !ledger_.is_secret(text.substr(i + 1 - telling, telling)),
                "no owner token in a text");
    }
}

}  // namespace redlock::test
