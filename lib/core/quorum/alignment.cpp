#include "core/quorum/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

// From the counters of an attempt's nodes to its fencing token. An alignment is a round of its own,
// which shares its attempt's deadline, and which the attempt's late grants join.
namespace redlock::core {

namespace {

constexpr std::string_view too_early = "this node's date is too early for a new fencing counter";

}  // namespace

/// From here on the nodes' votes come with their counters.
void rounds::count_votes(round& attempt)
{
    shared_.known_counters.reserve();
    attempt.fencing = &fencings_.take();
    attempt.fencing->reset(attempt.tally.nodes(), date_.microseconds());
}

/// A majority holds the keys and has not voted one value, but still may.
bool rounds::can_be_aligned(const round& attempt) const noexcept
{
    if (attempt.fencing == nullptr || !attempt.is_linked() ||
        attempt.tally.of_acquire() != verdict::won || attempt.fencing->agreed()) {
        return false;
    }
    return attempt.tally.open_nodes() != 0 || attempt.fencing->aligning() != 0 ||
           next_target(attempt, 0);
}

/// `tries`: how many raises there were. Others may go on counting meanwhile: each further try aims
/// farther above what the last one found.
std::optional<std::int64_t> rounds::next_target(const round& attempt, unsigned tries) const noexcept
{
    constexpr unsigned most_doublings = 16;
    const fencing_votes& counted = *attempt.fencing;
    const node_mask nodes = counted.known() & ~counted.aligning();
    if (tries > 0) {
        const std::int64_t headroom = std::int64_t{8} << std::min(2 * tries, most_doublings);
        if (const auto high = counted.target(nodes, headroom)) {
            return high;
        }
    }
    return counted.target(nodes, 0);
}

/// Where there is nothing to aim at yet, it waits for further grants.
round& rounds::begin_alignment(round& attempt, unsigned tries)
{
    round& r = records_.take();
    reset(r, round_kind::align, *attempt.of);
    r.deadline = attempt.deadline;
    r.details = nullptr;
    r.ttl = attempt.ttl;
    r.partner = &attempt;
    ++attempt.references;
    attempt.partner = &r;
    r.target = next_target(attempt, tries).value_or(0);
    by_deadline_.insert_after(attempt, r);
    ++shared_.stats.counter_alignments;
    return r;
}

/// A node that has not granted the key may yet; one whose counter is there has voted already; one
/// that is above stays as it is. One that is out of votes must not be given a counter that it would
/// vote with afterwards.
void rounds::ask_to_align(round& r, unsigned index)
{
    round& attempt = *r.partner;
    fencing_votes& counted = *attempt.fencing;
    const bool is_below =
        counted.is_below(index, r.target) && (counted.aligning() & bit(index)) == 0;
    node& n = *nodes_[index];
    if (is_below && n.takes_requests() && !n.is_quarantined()) {
        encoded_row none;
        n.ask(r, none);
        counted.begin_alignment(index);
        return;
    }
    if (is_below) {
        counted.settle(index);
    }
    if (attempt.tally.has_voted(index)) {
        r.tally.fail(index);
    }
}

/// Where a majority could meet elsewhere without those that have not answered, it does not wait for
/// them.
verdict rounds::outcome_of_alignment(const round& r) const noexcept
{
    const round& attempt = *r.partner;
    if (attempt.fencing->agreed()) {
        return verdict::won;
    }
    if (next_target(attempt, 0)) {
        return verdict::refused;
    }
    return r.tally.open() == 0 && attempt.fencing->aligning() == 0 ? verdict::unavailable
                                                                   : verdict::open;
}

// What nodes tell.

void rounds::on_counter(round& r, unsigned index, const counter_answer& answer)
{
    switch (answer.what) {
        case counter_answer::kind::counted: on_counted(r, index, answer.value); return;
        case counter_answer::kind::aligned: on_aligned(r, index, answer.value); return;
        case counter_answer::kind::found: on_found(r, index, answer.value); return;
        case counter_answer::kind::unknown: on_unknown(r, index, answer.why); return;
        case counter_answer::kind::unusable: on_unusable(r, index, answer.why); return;
    }
}

/// A node that granted the key has counted it.
void rounds::on_counted(round& attempt, unsigned index, std::int64_t value)
{
    if (!attempt.tally.has_voted(index)) {
        attempt.fencing->vote(index, value, nodes_[index]->is_new_counter(value));
    }
    on_vote(attempt, index, node_outcome::granted, {});
    round* const alignment = attempt.partner;
    if (alignment != nullptr && !alignment->closed && !alignment->tally.has_voted(index)) {
        if (!attempt.fencing->agreed()) {
            ask_to_align(*alignment, index);
        }
        consider(*alignment);
    }
}

void rounds::on_aligned(round& r, unsigned index, std::int64_t value) noexcept
{
    if (nodes_[index]->is_new_counter(value)) {
        on_unusable(r, index, too_early);
        return;
    }
    r.partner->fencing->vote(index, value, false);
    after_answer(r, index, node_outcome::granted);
}

/// Where the counter is not at the target yet, the node does not let it go so far.
void rounds::on_found(round& r, unsigned index, std::int64_t value) noexcept
{
    if (nodes_[index]->is_new_counter(value)) {
        on_unusable(r, index, too_early);
        return;
    }
    round& attempt = *r.partner;
    attempt.fencing->found(index, value);
    if (value < r.target) {
        attempt.fencing->bound(index, r.target);
        explain(attempt, index, "the fencing counter may not go that far beyond this node's date");
    }
    after_answer(r, index, node_outcome::refused);
}

/// Or nobody knows, as the answer was lost. What the node voted before is a vote in either case:
/// its counter has only grown since.
void rounds::on_unknown(round& r, unsigned index, std::string_view why) noexcept
{
    r.partner->fencing->settle(index);
    explain(*r.partner, index, why);
    after_answer(r, index, node_outcome::failed);
}

void rounds::on_unusable(round& r, unsigned index, std::string_view why) noexcept
{
    r.partner->fencing->drop(index);
    explain(*r.partner, index, why);
    after_answer(r, index, node_outcome::failed);
}

/// A late answer may complete a later alignment of the same attempt.
void rounds::after_answer(round& r, unsigned index, node_outcome outcome) noexcept
{
    r.partner->fencing->end_alignment(index);
    on_vote(r, index, outcome, {});
    round* const present = r.partner->partner;
    if (present != nullptr && present != &r) {
        consider(*present);
    }
}

}  // namespace redlock::core
