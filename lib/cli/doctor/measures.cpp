#include "cli/doctor/measures.hpp"

#include <algorithm>
#include <iterator>

namespace redlock::cli {

using std::chrono::nanoseconds;

namespace {

/// TIME has a resolution of one microsecond.
constexpr nanoseconds node_tick = std::chrono::microseconds(1);

nanoseconds round_trip(const sample& s) noexcept
{
    return s.answered - s.sent;
}

/// The best estimate of when the node read its clock. The error is at most half of the round trip.
boot_clock::time_point middle(const sample& s) noexcept
{
    return s.sent + round_trip(s) / 2;
}

using sample_place = std::vector<sample>::const_iterator;

sample_place shortest(sample_place from, sample_place to)
{
    return std::min_element(
        from, to, [](const sample& a, const sample& b) { return round_trip(a) < round_trip(b); });
}

void measure_rate(const sample& early, const sample& late, clock_facts& clock)
{
    const nanoseconds here = middle(late) - middle(early);
    if (here <= nanoseconds::zero()) {
        return;
    }
    const nanoseconds there = *late.node_date - *early.node_date;
    const nanoseconds unsure = (round_trip(early) + round_trip(late)) / 2 + node_tick;
    const auto span = static_cast<double>(here.count());
    clock.rate = static_cast<double>((there - here).count()) / span;
    clock.rate_precision = static_cast<double>(unsure.count()) / span;
}

}  // namespace

/// Reads the clocks a few times and keeps the pair of readings with the shortest delay between
/// them.
our_date::our_date() noexcept
{
    constexpr int looks = 8;
    auto shortest = nanoseconds::max();
    for (int i = 0; i < looks; ++i) {
        const auto before = boot_clock::now();
        const auto date = std::chrono::system_clock::now();
        const nanoseconds took = boot_clock::now() - before;
        if (took < shortest) {
            shortest = took;
            at_boot_ = date - (before + took / 2).time_since_epoch();
        }
    }
}

latency_facts latency_of(const std::vector<sample>& samples)
{
    std::vector<nanoseconds> sorted;
    sorted.reserve(samples.size());
    std::transform(samples.begin(), samples.end(), std::back_inserter(sorted), round_trip);
    std::sort(sorted.begin(), sorted.end());
    latency_facts f;
    f.samples = sorted.size();
    if (!sorted.empty()) {
        const std::size_t last = sorted.size() - 1;
        f.median = sorted[last / 2];
        f.p99 = sorted[(last * 99 + 99) / 100];
        f.longest = sorted.back();
    }
    return f;
}

std::optional<clock_facts> clock_of(const std::vector<sample>& samples)
{
    std::vector<sample> dated;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(dated),
                 [](const sample& s) { return s.node_date.has_value(); });
    if (dated.empty()) {
        return std::nullopt;
    }
    const auto best = shortest(dated.begin(), dated.end());
    clock_facts clock;
    const nanoseconds half = round_trip(*best) / 2;
    clock.offset_precision = half + node_tick;
    clock.offset = *best->node_date - (best->date.time_since_epoch() - half);
    clock.watched = dated.back().answered - dated.front().sent;
    if (dated.size() > 1) {
        const auto middle_one = dated.begin() + static_cast<std::ptrdiff_t>(dated.size() / 2);
        measure_rate(*shortest(dated.begin(), middle_one), *shortest(middle_one, dated.end()),
                     clock);
    }
    return clock;
}

}  // namespace redlock::cli
