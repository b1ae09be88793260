#include "world.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

// What has to hold, whatever happens: after each step, and of each operation that ends.
namespace redlock::test {

using core::bit;
using core::node_mask;
using kind = core::operation::kind;

void world::take_finished()
{
    while (core::operation* op = core_.take_finished(now_)) {
        caller& c = *static_cast<caller*>(op->user);
        require(++c.completions == 1, "an operation ends once");
        conclude(c, *op);
        c.op = nullptr;
        core_.recycle(*op);
    }
}

instant world::validity_end(instant t0, nanos ttl) const
{
    const auto percent = static_cast<int>(config_.drift_factor * 100);
    return t0 + ttl - ttl / 100 * percent - 2ms;
}

node_mask world::may_have_granted(std::string_view token) const
{
    node_mask may = ledger_.granted(token);
    for (unsigned i = 0; i < peers_.size(); ++i) {
        may |= peers_[i]->has_proof() ? bit(i) : 0;
    }
    return may;
}

void world::conclude(caller& c, core::operation& op)
{
    if (with_reports) {
        check_report(c, op);
    }
    if (op.error) {
        require(op.subject == nullptr, "a failure holds nothing");
        check_text(op.error.message());
        return;
    }
    switch (c.what) {
        case kind::acquire:
        case kind::adopt: conclude_lock(c, *op.subject); return;
        case kind::extend:
            require(may_have_granted({}) != 0 || ledger_.extended(c.token, c.begun),
                    "an extend is said to be done by a majority");
            believed_until_[c.token] =
                std::max(believed_until_[c.token], validity_end(c.begun, c.ttl));
            return;
        case kind::release:
            require(may_have_granted({}) != 0 ||
                        ledger_.without_key(c.token, nodes()) > nodes() - settings_.quorum,
                    "a release is said to be done by enough nodes");
            return;
        case kind::inspect: check_inspection(op.inspection); return;
        case kind::wait_lost:
        case kind::renew: return;
    }
}

void world::conclude_lock(caller& c, core::lease& l)
{
    const std::string_view token = l.token.view();
    require(l.valid_until() > now_, "a lock that is had is valid");
    if (c.what == kind::acquire) {
        require(ledger_.is_majority(may_have_granted(token)), "a lock is granted by a majority");
        const instant asked = ledger_.asked_at(token).value_or(now_);
        believed_until_[std::string(token)] = validity_end(asked, c.ttl);
    } else {
        require(token == c.token, "a lock is adopted by its token");
        require(may_have_granted({}) != 0 || ledger_.extended(token, c.begun),
                "a lock is adopted by a majority");
        instant& end = believed_until_[c.token];
        end = std::max(end, validity_end(c.begun, c.ttl));
    }
    held_.push_back(&l);
}

void world::check_report(const caller& c, const core::operation& op)
{
    const redlock::report& r = c.report;
    require(r.nodes.empty() || r.nodes.size() == nodes(), "a report is of all nodes");
    require(r.nodes.empty() || !op.cancelled || op.error != op.cancelled,
            "a cancelled operation reports nothing");
    node_mask granted = 0;
    for (unsigned i = 0; i < r.nodes.size(); ++i) {
        check_text(r.nodes[i].error);
        check_text(r.nodes[i].node);
        require(r.nodes[i].error.size() <= 256, "an error text is short");
        require(r.nodes[i].elapsed >= 0us, "time does not go back");
        granted |= r.nodes[i].outcome == node_outcome::granted ? bit(i) : 0;
    }
    if (c.what == kind::acquire && !op.error) {
        require(ledger_.is_majority(granted), "a report shows the majority");
        const node_mask could = may_have_granted(op.subject->token.view());
        require((granted & ~could) == 0, "a report tells grants of those who said so");
    }
}

void world::check_inspection(const redlock::inspection& found) const
{
    require(found.agreeing + found.empty + found.silent <= nodes(), "a node is counted once");
    require(found.state != holding::held || found.agreeing >= settings_.quorum,
            "held is what a majority says");
    require(!found.remaining || (found.state == holding::held && *found.remaining >= 0ms &&
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
        asked += p->asked.size();
        connected += p->connected ? 1u : 0u;
        in_step = in_step && !p->writing && p->early.empty();
    }
    require(s.nodes_ready <= connected, "only a connected node is ready");
    require(!in_step || s.unanswered == asked, "each request waits for its reply");
    require(s.debts <= nodes() * settings_.max_debts, "debts are bounded");
    require(s.leases <= s.in_flight + held_.size() + s.unanswered + s.debts,
            "a lease is kept by somebody");
    const auto under_way = static_cast<std::size_t>(
        std::count_if(callers_.begin(), callers_.end(), [](const caller& c) { return !c.done(); }));
    require(s.in_flight == under_way, "operations are counted");
}

/// No lock is believed in for longer than its key lives, nor with fewer than a majority behind it;
/// no two of one resource, as long as the nodes do what masters do.
void world::check_held()
{
    std::map<std::string_view, std::string_view> holders;
    for (const core::lease* l : held_) {
        const std::string_view token = l->token.view();
        require(l->valid_until() <= believed_until_[std::string(token)],
                "no lock is believed in for longer than its key lives");
        require((l->granted.load() & ~may_have_granted(token)) == 0,
                "only who was asked, and said so, has granted");
        if (!lied && l->valid_until() > now_) {
            require(holders.emplace(l->resource, token).second, "one holder at a time");
        }
    }
}

/// For logs and reports: on one line, without owner tokens and passwords.
void world::check_text(std::string_view text) const
{
    constexpr std::size_t telling = 20;
    // A node that says anything may say a part of it.
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
