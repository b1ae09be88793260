#include "cli/doctor/clocks.hpp"

#include "cli/doctor/findings.hpp"
#include "cli/doctor/words.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace redlock::cli {

using std::chrono::nanoseconds;

namespace {

using facts_list = std::vector<node_facts>;

// Comparison of two nodes.

struct measured {
    double apart = 0;
    double precision = 0;

    /// The difference that is certain. Not above zero if the two may not differ at all.
    [[nodiscard]] double surely() const noexcept { return std::abs(apart) - precision; }
};

std::optional<measured> rate_between(const node_facts& a, const node_facts& b)
{
    if (!a.clock || !b.clock || !a.clock->rate || !b.clock->rate) {
        return std::nullopt;
    }
    return measured{*b.clock->rate - *a.clock->rate,
                    a.clock->rate_precision + b.clock->rate_precision};
}

/// The extra uncertainty of a difference between two dates, in nanoseconds. The two nodes were
/// sampled at moments that are no farther apart than the longer of the two sampling spans. Two
/// clocks with different rates may have moved relative to each other by this much in between.
double gone_apart(const node_facts& a, const node_facts& b)
{
    const auto rate = rate_between(a, b);
    const nanoseconds watched = std::max(a.clock->watched, b.clock->watched);
    return rate ? std::max(0.0, rate->surely()) * static_cast<double>(watched.count()) : 0;
}

std::optional<measured> date_between(const node_facts& a, const node_facts& b)
{
    if (!a.clock || !b.clock) {
        return std::nullopt;
    }
    const nanoseconds apart = b.clock->offset - a.clock->offset;
    const nanoseconds unsure = a.clock->offset_precision + b.clock->offset_precision;
    return measured{static_cast<double>(apart.count()),
                    static_cast<double>(unsure.count()) + gone_apart(a, b)};
}

template <class Between>
std::optional<clock_gap> widest(const facts_list& nodes, Between between)
{
    std::optional<clock_gap> found;
    double sure = 0;
    double at_most = 0;
    for (auto a = nodes.begin(); a != nodes.end(); ++a) {
        for (auto b = std::next(a); b != nodes.end(); ++b) {
            const std::optional<measured> m = between(*a, *b);
            if (!m) {
                continue;
            }
            at_most = std::max(at_most, std::abs(m->apart) + m->precision);
            if (!found || m->surely() > sure) {
                sure = m->surely();
                const bool is_b = m->apart > 0;
                found = clock_gap{is_b ? b->node : a->node, is_b ? a->node : b->node,
                                  std::abs(m->apart), m->precision};
            }
        }
    }
    if (found) {
        found->at_most = at_most;
    }
    return found;
}

std::string date_text(double ns)
{
    return span_text(nanoseconds(static_cast<nanoseconds::rep>(ns)));
}

double allowed_drift(const base::settings& s) noexcept
{
    return static_cast<double>(s.drift_ppb) / 1e9;
}

// Majorities.

/// The nodes with known dates, sorted by date.
std::vector<const node_facts*> dated(const facts_list& nodes)
{
    std::vector<const node_facts*> known;
    for (const node_facts& f : nodes) {
        if (f.clock) {
            known.push_back(&f);
        }
    }
    std::sort(known.begin(), known.end(), [](const node_facts* a, const node_facts* b) {
        return a->clock->offset < b->clock->offset;
    });
    return known;
}

/// Whether the two dates may be no farther apart than `slack`.
bool agree(const node_facts& a, const node_facts& b, nanoseconds slack)
{
    return date_between(a, b)->surely() <= static_cast<double>(slack.count());
}

using place = std::vector<const node_facts*>::const_iterator;

/// The largest group of nodes whose dates all agree with each other.
std::pair<place, place> largest_group(const std::vector<const node_facts*>& sorted,
                                      nanoseconds slack)
{
    std::pair<place, place> best{sorted.begin(), sorted.begin()};
    for (auto from = sorted.begin(); from != sorted.end(); ++from) {
        const auto to = std::find_if_not(
            from, sorted.end(), [&](const node_facts* f) { return agree(**from, *f, slack); });
        if (to - from > best.second - best.first) {
            best = {from, to};
        }
    }
    return best;
}

/// Whether enough dates for a majority are known, but no majority agrees. False if fewer are known.
bool no_majority_agrees(const std::vector<const node_facts*>& sorted, const base::settings& s)
{
    const auto [from, to] = largest_group(sorted, s.counter_slack);
    return sorted.size() >= s.quorum && static_cast<std::size_t>(to - from) < s.quorum;
}

// Findings.

std::string ahead_or_behind(nanoseconds offset)
{
    return span_text(std::chrono::abs(offset)) +
           (offset > nanoseconds::zero() ? " ahead of" : " behind");
}

void judge_no_majority(const facts_list& nodes, const base::settings& s, std::vector<finding>& out)
{
    const auto gap = widest_date_gap(nodes);
    out.push_back(
        {severity::error,
         {},
         "dates-apart",
         "No majority of the nodes agrees about the date to within " + span_text(s.counter_slack) +
             " (" + gap->ahead + " is " + date_text(gap->apart) + " ahead of " + gap->behind +
             "): no lock of a new resource can be acquired with a fencing token.",
         "Set the dates right (NTP). Locks without fencing tokens need no dates (--no-fencing)."});
}

/// Finds wrong dates. Locks need no dates, but fencing tokens need a majority that agrees about the
/// date to within the slack.
void judge_dates(const facts_list& nodes, const base::settings& s, std::vector<finding>& out)
{
    const auto sorted = dated(nodes);
    if (sorted.empty()) {
        return;
    }
    if (s.fencing && no_majority_agrees(sorted, s)) {
        judge_no_majority(nodes, s, out);
        return;
    }
    const auto [from, to] = largest_group(sorted, s.counter_slack);
    const auto agreeing = static_cast<std::size_t>(to - from);
    const nanoseconds usual = (*(from + (to - from - 1) / 2))->clock->offset;
    for (const node_facts& f : nodes) {
        const bool is_in = !f.clock || std::find(from, to, &f) != to;
        if (!is_in) {
            out.push_back({s.fencing ? severity::warning : severity::note, f.node, "date",
                           "has a date that is " + ahead_or_behind(f.clock->offset - usual) +
                               " the others': it may not agree with them on fencing tokens.",
                           "Set its date right (NTP). Locks need no dates, but a date that is set "
                           "forward ends the locks on this node early."});
        }
    }
    if (std::chrono::abs(usual) > s.counter_slack && agreeing >= s.quorum) {
        out.push_back({severity::note,
                       {},
                       "our-date",
                       "The nodes' date is " + ahead_or_behind(usual) + " this machine's.",
                       "Set the date right (NTP). Clients do not rely on it, but readers of their "
                       "logs may."});
    }
}

/// Finds different clock rates. Skips two nodes if `judge_measures` has already reported the rate
/// of one of them.
void judge_rates(const facts_list& nodes, const base::settings& s, std::vector<finding>& out)
{
    const auto gap = widest_rate_gap(nodes);
    const double allowed = allowed_drift(s);
    if (!gap || gap->apart - gap->precision <= allowed) {
        return;
    }
    const bool is_said = std::any_of(out.begin(), out.end(), [&](const finding& f) {
        return f.code == "clock-rate" && (f.node == gap->ahead || f.node == gap->behind);
    });
    if (!is_said) {
        out.push_back(
            {severity::error, gap->ahead, "clock-drift",
             "has a clock that gains " + share_text(gap->apart) + " (within " +
                 share_text(gap->precision) + ") on the clock of " + gap->behind +
                 ", and --drift allows " + share_text(allowed) +
                 ": for a client whose clock runs like the slower one, locks end early here.",
             "Find out which of the two is wrong, and whether something set it just now.", true});
    }
}

// Lines.

std::string line_of_dates(const clock_comparison& c, const base::settings& s)
{
    const clock_gap& gap = *c.dates;
    const std::string bears = "the " + span_text(s.counter_slack) + " that fencing tokens tolerate";
    const bool is_within = gap.at_most <= static_cast<double>(s.counter_slack.count());
    std::string line =
        "Dates: " + (gap.is_certain()
                         ? gap.ahead + " is " + date_text(gap.apart) + " ahead of " + gap.behind +
                               " (within " + date_text(gap.precision) + ")"
                         : "within " + date_text(gap.at_most) + " of each other");
    if (!s.fencing) {
        return line + ".";
    }
    if (is_within) {
        return line + ", less than " + bears + ".";
    }
    return line +
           (c.dates_matter ? "; no majority agrees to within " : "; a majority agrees to within ") +
           bears + ".";
}

std::string line_of_rates(const clock_comparison& c, const base::settings& s)
{
    const clock_gap& gap = *c.rates;
    const double allowed = allowed_drift(s);
    const std::string line =
        "Clock rates: " + (gap.is_certain()
                               ? gap.ahead + " gains " + share_text(gap.apart) + " on " +
                                     gap.behind + " (within " + share_text(gap.precision) + ")"
                               : "within " + share_text(gap.at_most) + " of each other");
    const char* const verdict = c.rates_matter           ? ", more than the "
                                : gap.at_most <= allowed ? ", less than the "
                                                         : ", not known well enough for the ";
    return line + verdict + share_text(allowed) + " of --drift.";
}

}  // namespace

std::optional<clock_gap> widest_date_gap(const facts_list& nodes)
{
    return widest(nodes, date_between);
}

std::optional<clock_gap> widest_rate_gap(const facts_list& nodes)
{
    return widest(nodes, rate_between);
}

clock_comparison compare_clocks(const facts_list& nodes, const base::settings& s)
{
    clock_comparison c;
    c.dates = widest_date_gap(nodes);
    c.rates = widest_rate_gap(nodes);
    if (c.dates) {
        c.dates_matter = s.fencing && no_majority_agrees(dated(nodes), s);
        c.lines.push_back(line_of_dates(c, s));
    }
    if (c.rates) {
        c.rates_matter = c.rates->apart - c.rates->precision > allowed_drift(s);
        c.lines.push_back(line_of_rates(c, s));
    }
    return c;
}

void judge_clocks(const facts_list& nodes, const base::settings& s, std::vector<finding>& out)
{
    judge_dates(nodes, s, out);
    judge_rates(nodes, s, out);
}

}  // namespace redlock::cli
