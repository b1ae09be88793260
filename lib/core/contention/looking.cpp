#include "core/contention/contention.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

// When those who were refused ask again, and whether what they find was to be told them.
namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// More who come together are spread as if they were so many.
constexpr std::uint32_t largest_crowd = 64;
/// Those of a client that are told look less often when they are many, so that all of them together
/// do a thousand times a second: who is told needs it hardly ever.
constexpr nanos between_looks = std::chrono::milliseconds{1};
/// Looks that find nothing missed, until who was let down by a server trusts it as before.
constexpr std::uint8_t most_doubts = 64;

}  // namespace

/// Until when who was refused waits, unless it is told something, or out of time.
instant contention::begin_pause(operation& op, nanos backoff) noexcept
{
    op.looks_at = end_of_pause(op, backoff);
    return std::min(op.looks_at, op.deadline);
}

instant contention::end_of_pause(const operation& op, nanos backoff) noexcept
{
    if (op.is_woken) {
        return shared_.now + wake_up_delay(op);
    }
    if (op.was_roused) {
        return shared_.now + std::min(backoff, least_wait);
    }
    if (op.watches == 0) {
        // Who is to be told hears that first, however soon it would ask again.
        const nanos answer = std::min(2 * round_trip_, settings_.node_timeout);
        return shared_.now + (op.is_watch_asked ? std::max(backoff, answer) : backoff);
    }
    return is_doubtful(op) ? end_of_doubt(op, backoff) : end_of_watch(op);
}

/// Servers tell those who wait always in the same order, and the last of many long after the first:
/// chance decides who comes first, and who was refused less often than is usual lets others go
/// before. More so where they are many.
nanos contention::wake_up_delay(const operation& op) noexcept
{
    const stint* const s = stint_of(*op.subject);
    const std::uint32_t usual = s != nullptr ? s->refusals : 0;
    const nanos spread = spread_of(std::max(usual, op.refusals));
    const nanos behind = op.refusals < usual ? spread * (usual - op.refusals) / usual : nanos{};
    return shared_.random_below(std::min(spread, (op.deadline - shared_.now) / 4)) +
           std::min(behind, (op.deadline - shared_.now) / 4);
}

/// In which those ask who are woken together, so many of them.
nanos contention::spread_of(std::uint32_t crowd) const noexcept
{
    return std::min(round_trip_, settings_.node_timeout) * (8 + std::min(crowd, largest_crowd)) / 8;
}

/// When to look, as nothing was told.
instant contention::end_of_watch(const operation& op) noexcept
{
    const nanos longest = std::max(settings_.max_poll_interval, time_between_looks(watching()));
    nanos wait = longest - shared_.random_below(longest / 4);
    if (op.refused_until != unknown_end) {
        const nanos lives = op.refused_until - shared_.now;
        wait = std::min(wait, lives + shared_.random_below(std::max(round_trip_, least_wait)));
    }
    return shared_.now + std::max(wait, least_wait);
}

/// Of so many together.
nanos contention::time_between_looks(std::size_t watchers) noexcept
{
    return between_looks * static_cast<std::int64_t>(watchers);
}

/// The node that is to tell has told nobody since it let one down, or has let this one down not
/// long ago.
bool contention::is_doubtful(const operation& op) const noexcept
{
    return op.doubts > 0 ||
           nodes_[static_cast<unsigned>(std::countr_zero(op.watches))]->notifications().is_silent();
}

/// Who was let down looks as often as who is never told; many keep the distance that those keep who
/// are told.
instant contention::end_of_doubt(const operation& op, nanos backoff) noexcept
{
    return std::min(end_of_watch(op),
                    shared_.now + std::max(backoff, time_between_looks(watching())));
}

/// Who looked has found the key it knows of, as far as can be told: what it knew goes on, until the
/// key has outlived it, as where clocks run differently. Another one, or one that lives to another
/// time, was not told.
bool contention::compare_with_last_answer(operation& op, unsigned index, instant until,
                                          nanos within) noexcept
{
    const bool looked = (std::exchange(op.looked_at, 0) & bit(index)) != 0;
    const bool is_known = until != unknown_end && op.refused_until != unknown_end;
    if (!looked) {
        return false;
    }
    const nanos moved =
        std::max(until - within - op.refused_until, op.refused_until - op.refused_within - until);
    if (is_known && moved > least_change(op)) {
        note_silence(op, index);
        return false;
    }
    if (op.doubts > 0 && !nodes_[index]->notifications().is_silent()) {
        --op.doubts;
    }
    return is_known && op.refused_until > shared_.now;
}

/// Who looked has found that the key it watched has gone before its time, which was not told. A
/// node that set a key had it free, also where its counter has kept it from a vote.
void contention::on_answers(operation& op, const round& r) noexcept
{
    const node_mask free = op.looked_at & (r.keyed | r.tally.granted_by());
    if (free != 0 && op.refused_until != unknown_end &&
        op.refused_until - op.refused_within - shared_.now > least_change(op)) {
        op.looked_at = 0;
        note_silence(op, static_cast<unsigned>(std::countr_zero(free)));
    }
}

/// By which the end of a key has to differ from what was said of it, if it is not to be the work of
/// clocks that run differently.
nanos contention::least_change(const operation& op) const noexcept
{
    return settings_.node_timeout + settings_.drift(shared_.now - op.refused_at);
}

/// A server that tells in time says nothing of what changes a moment later.
void contention::note_silence(operation& op, unsigned index) noexcept
{
    if (nodes_[index]->notifications().note_silence(op.subject->t0)) {
        ++shared_.stats.notifications_missed;
        op.doubts = most_doubts;
    }
}

}  // namespace redlock::core
