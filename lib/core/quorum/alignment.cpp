#include "core/quorum/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

// Turns the counters of an attempt's nodes into its fencing token. An alignment is a round of its
// own with the deadline of its attempt. A node that grants late joins it.
namespace redlock::core {

namespace {

constexpr std::string_view too_early = "this node's date is too early for a new fencing counter";

}  // namespace

void rounds::count_votes(round& attempt)
{
    shared_.known_counters.reserve();
    attempt.fencing = &fencings_.take();
    attempt.fencing->reset(attempt.tally.nodes(), date_.microseconds());
}

bool rounds::can_be_aligned(const round& attempt) const noexcept
{
    if (attempt.fencing == nullptr || !attempt.is_linked() ||
        attempt.tally.of_acquire() != verdict::won || attempt.fencing->agreed()) {
        return false;
    }
    return attempt.tally.open_nodes() != 0 || attempt.fencing->aligning() != 0 ||
           next_target(attempt, 0);
}

/// The value to align counters to; empty: there is none. `tries`: the number of alignments so far.
/// Other clients may increment the counters meanwhile, so each further try aims higher above them.
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

/// If there is no value to align to, the alignment waits for further grants.
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

/// Asks the node if its counter is below the target. A node that has not voted in the attempt may
/// still grant, and joins then. A node without votes must not get a counter that it would vote with
/// later.
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

/// If a majority could agree on another value, the alignment does not wait for further answers.
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

// The answers of nodes.

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

/// A node has granted the key, and its counter became `value`.
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

/// The counter was not aligned. If it is below the target, the node does not let it go that far.
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

/// The counter may or may not have been aligned. An earlier vote of the node counts in any case,
/// because its counter has only grown since.
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
