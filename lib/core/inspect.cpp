#include "core/coordinator.hpp"
#include "core/waits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace redlock::core {

using std::chrono::milliseconds;

namespace {

/// Whether two nodes told of the same owner. A key of another type has no owner token; it stands
/// for one owner.
bool same_owner(const round_details::of_node& a, const round_details::of_node& b) noexcept
{
    return a.foreign_kind == b.foreign_kind && a.owner == b.owner;
}

/// The nodes that agree with most others on who holds the key.
node_mask largest_party(const round& r) noexcept
{
    node_mask best = 0;
    for (unsigned i = 0; i < r.tally.nodes(); ++i) {
        node_mask party = 0;
        for (unsigned j = 0; j < r.tally.nodes(); ++j) {
            if ((r.tally.granted_by() & bit(i)) != 0 && (r.tally.granted_by() & bit(j)) != 0 &&
                same_owner(r.details->nodes[i], r.details->nodes[j])) {
                party |= bit(j);
            }
        }
        if (std::popcount(party) > std::popcount(best)) {
            best = party;
        }
    }
    return best;
}

}  // namespace

flow coordinator::run_inspect(operation& op)
{
    const held_round r{*this, new_round(op, command::inspect)};
    r->every_node = op.every_node;
    fan_out(*r);
    co_await verdict_of{op, *r};
    if (op.cancelled) {
        co_return give_up(op);
    }
    conclude_inspection(op, *r);
    fill_report(op, *r);
    tell_owners_apart(op, *r);
    co_return finish(op, {});
}

/// No more of an owner token leaves the core than which nodes told the same one.
void coordinator::tell_owners_apart(const operation& op, const round& r) noexcept
{
    if (op.report == nullptr) {
        return;
    }
    std::vector<node_report>& told = op.report->nodes;
    unsigned owners = 0;
    for (unsigned i = 0; i < told.size(); ++i) {
        if (told[i].outcome != node_outcome::granted) {
            continue;
        }
        for (unsigned j = 0; j < i && told[i].owner == 0; ++j) {
            const bool is_same =
                told[j].owner != 0 && same_owner(r.details->nodes[i], r.details->nodes[j]);
            told[i].owner = is_same ? told[j].owner : 0;
        }
        if (told[i].owner == 0) {
            told[i].owner = ++owners;
        }
    }
}

/// Granted means here: has the key; refused: has none.
verdict coordinator::outcome_of_inspect(const round& r) const noexcept
{
    const auto party = static_cast<unsigned>(std::popcount(largest_party(r)));
    if (party >= r.tally.quorum()) {
        return verdict::won;
    }
    if (party + r.tally.open() + r.tally.failed() < r.tally.quorum()) {
        return verdict::refused;
    }
    const bool may_be_held = party + r.tally.open() >= r.tally.quorum();
    const bool may_be_free = party + r.tally.failed() < r.tally.quorum();
    return may_be_held || may_be_free ? verdict::open : verdict::unavailable;
}

void coordinator::conclude_inspection(operation& op, const round& r)
{
    inspection& found = op.inspection;
    const node_mask party = largest_party(r);
    found.agreeing = static_cast<unsigned>(std::popcount(party));
    found.empty = r.tally.refused();
    found.silent = r.tally.open() + r.tally.failed();
    switch (outcome_of_inspect(r)) {
        case verdict::won: found.state = holding::held; break;
        case verdict::refused: found.state = holding::free; return;
        case verdict::open:
        case verdict::unavailable: found.state = holding::unknown; return;
    }
    std::array<milliseconds, max_nodes> ttls{};
    std::size_t told = 0;
    for (unsigned i = 0; i < r.tally.nodes(); ++i) {
        const auto& n = r.details->nodes[i];
        if ((party & bit(i)) != 0) {
            found.owner_known = !n.foreign_kind;
            if (n.ttl && *n.ttl >= milliseconds{0}) {
                ttls[told++] = *n.ttl;
            }
        }
    }
    if (told < r.tally.quorum()) {
        return;
    }
    const auto nth = ttls.begin() + static_cast<std::ptrdiff_t>(r.tally.quorum() - 1);
    std::nth_element(ttls.begin(), nth, ttls.begin() + static_cast<std::ptrdiff_t>(told),
                     std::greater<>{});
    const auto capped = std::min<milliseconds>(*nth, base::max_ttl);
    const auto left = capped - (now_ - r.t0) - settings_.drift(capped);
    found.remaining = std::max(milliseconds{0}, std::chrono::floor<milliseconds>(left));
}

}  // namespace redlock::core
