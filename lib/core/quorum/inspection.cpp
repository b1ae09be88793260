#include "core/quorum/inspection.hpp"

#include "base/text.hpp"
#include "core/label.hpp"
#include "core/round.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

namespace redlock::core {

using std::chrono::milliseconds;

namespace {

/// Whether two nodes have keys of the same owner. A key of another type has no owner token. All
/// such keys count as one owner's.
bool same_owner(const round_details::of_node& a, const round_details::of_node& b) noexcept
{
    return a.foreign_kind == b.foreign_kind && a.owner == b.owner;
}

/// The nodes that have keys of one owner, by key group, in the order of the first node of each.
class key_groups {
public:
    explicit key_groups(const round& r) noexcept
    {
        for (unsigned i = 0; i < r.tally.nodes(); ++i) {
            if ((r.tally.granted_by() & bit(i)) != 0) {
                add(i, *r.details);
            }
        }
    }

    /// The key group of that owner; empty: there is none.
    [[nodiscard]] std::optional<unsigned> of(std::string_view owner,
                                             const round_details& told) const noexcept
    {
        for (unsigned key_group = 0; key_group < count_; ++key_group) {
            const auto& first = told.nodes[first_of(key_group)];
            if (!first.foreign_kind && first.owner == owner) {
                return key_group;
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] unsigned count() const noexcept { return count_; }
    [[nodiscard]] node_mask nodes_of(unsigned key_group) const noexcept
    {
        return nodes_[key_group];
    }

    /// The key group with the most nodes, the first one of several. If there are no keys, it has no
    /// nodes.
    [[nodiscard]] unsigned largest() const noexcept
    {
        const auto most = std::ranges::max_element(
            nodes_, {}, [](node_mask m) noexcept { return std::popcount(m); });
        return static_cast<unsigned>(most - nodes_.begin());
    }

private:
    [[nodiscard]] unsigned first_of(unsigned key_group) const noexcept
    {
        return static_cast<unsigned>(std::countr_zero(nodes_[key_group]));
    }

    void add(unsigned node, const round_details& told) noexcept
    {
        unsigned key_group = 0;
        while (key_group < count_ &&
               !same_owner(told.nodes[first_of(key_group)], told.nodes[node])) {
            ++key_group;
        }
        nodes_[key_group] |= bit(node);
        count_ = std::max(count_, key_group + 1);
    }

    std::array<node_mask, max_nodes> nodes_{};
    unsigned count_ = 0;
};

}  // namespace

verdict outcome_of_inspection(const round& r) noexcept
{
    const key_groups all(r);
    const auto members = static_cast<unsigned>(std::popcount(all.nodes_of(all.largest())));
    if (members >= r.tally.quorum()) {
        return verdict::won;
    }
    if (members + r.tally.open() + r.tally.failed() < r.tally.quorum()) {
        return verdict::refused;
    }
    const bool may_be_held = members + r.tally.open() >= r.tally.quorum();
    const bool may_be_free = members + r.tally.failed() < r.tally.quorum();
    return may_be_held || may_be_free ? verdict::open : verdict::unavailable;
}

void conclude_inspection(const round& r, std::string_view own_token, const base::settings& s,
                         base::instant now, inspection& found)
{
    const key_groups all(r);
    const unsigned largest = all.largest();
    const node_mask members = all.nodes_of(largest);
    found.own_group = all.of(own_token, *r.details);
    found.agreeing = static_cast<unsigned>(std::popcount(members));
    found.empty = r.tally.refused();
    found.silent = r.tally.open() + r.tally.failed();
    found.clients_waiting = r.details->clients_waiting;
    found.first_waits_for = r.details->first_waits_for;
    switch (outcome_of_inspection(r)) {
        case verdict::won: found.state = lock_state::held; break;
        case verdict::refused: found.state = lock_state::free; return;
        case verdict::open:
        case verdict::unavailable: found.state = lock_state::unknown; return;
    }
    found.holder_group = largest;
    std::array<milliseconds, max_nodes> ttls{};
    std::size_t told = 0;
    for (unsigned i = 0; i < r.tally.nodes(); ++i) {
        const auto& n = r.details->nodes[i];
        if ((members & bit(i)) != 0) {
            found.owner_known = !n.foreign_kind;
            if (found.holder_label.empty()) {
                found.holder_label = base::printable(untied(n.label));
            }
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
    const auto left = capped - (now - r.t0) - s.drift(capped);
    found.remaining = std::max(milliseconds{0}, std::chrono::floor<milliseconds>(left));
}

void report_key_groups(const round& r, report& told) noexcept
{
    const key_groups all(r);
    for (unsigned key_group = 0; key_group < all.count(); ++key_group) {
        for (unsigned i = 0; i < told.nodes.size(); ++i) {
            if ((all.nodes_of(key_group) & bit(i)) != 0) {
                told.nodes[i].key_group = key_group;
            }
        }
    }
}

}  // namespace redlock::core
