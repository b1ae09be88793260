#include "chaos/report.hpp"

#include <algorithm>
#include <array>
#include <iomanip>

namespace redlock::chaos {
namespace {

using by_reason = std::array<std::uint64_t, reasons>;

std::string in_words(const by_reason& counts, const by_reason& before = {})
{
    std::string result;
    for (std::size_t i = 0; i < reasons; ++i) {
        if (const auto n = counts[i] - before[i]; n != 0) {
            result += result.empty() ? "" : ", ";
            result += std::to_string(n) + " " + std::string(to_string(static_cast<reason>(i)));
        }
    }
    return result.empty() ? "none" : result;
}

void print_counts(std::ostream& out, const findings& f)
{
    const auto& c = f.counts;
    const auto& w = f.watched;
    out << "acquired " << c.acquired << " (not: " << in_words(c.not_acquired) << ")\n"
        << "extended " << c.extended << " (not: " << in_words(c.not_extended) << "), kept alive "
        << c.renewed << '\n'
        << "given back " << c.given_back << " (not: " << in_words(c.not_given_back) << ")\n"
        << "updates " << c.written << ", refrained from " << c.refrained << ", done late " << c.late
        << ", lost " << f.lost_updates << ", at the same time as others " << f.steps_at_once
        << ", judged " << f.updates_judged << '\n'
        << "longest operation " << in_ms(f.longest_operation)
        << "; latest, behind its own deadline " << in_ms(f.most_overdue) << '\n'
        << "longest that a client was without a free lock: " << in_ms(w.own.longest_without)
        << ", that no client had a contended one: " << in_ms(w.shared.longest_without) << '\n'
        << "a majority was well for " << in_ms(w.counted) << " of " << in_ms(f.time) << ", up to "
        << in_ms(w.shared.unbroken) << " at a stretch\n"
        << "leases " << f.leases << ", of which two at a time: " << f.double_leases.size() << '\n'
        << "fencing tokens " << f.tokens << ", of which out of order: " << f.disordered.size()
        << (f.tokens_hold ? "" : ", as masters forgot their counters") << '\n';
}

void print_examples(std::ostream& out, const findings& f)
{
    constexpr std::size_t most = 5;
    for (std::size_t i = 0; i < std::min(most, f.double_leases.size()); ++i) {
        const auto& [one, other] = f.double_leases[i];
        out << "  resource " << one.resource << ": process " << one.process << " worker "
            << one.worker << ", and process " << other.process << " worker " << other.worker
            << " for " << (std::min(one.until, other.until) - other.from) / 1'000 << " us, "
            << (other.from - one.from) / 1'000 << " us after the first had begun\n";
    }
    for (std::size_t i = 0; f.tokens_hold && i < std::min(most, f.disordered.size()); ++i) {
        const auto& [one, other] = f.disordered[i];
        out << "  resource " << one.resource << ": process " << one.process << " worker "
            << one.worker << " had the fencing token " << one.token << ", and process "
            << other.process << " worker " << other.worker << " got " << other.token << '\n';
    }
}

/// Demanded events that the run had no occasion for. Passing such a run would prove nothing.
std::vector<std::string> missed(demand wanted, const findings& f)
{
    std::vector<std::string> result;
    if (f.counts.acquired == 0) {
        result.emplace_back("nothing was ever acquired");
    }
    if (f.tokens == 0) {
        result.emplace_back("no fencing token was seen");
    }
    // A shorter run may lack them, as workers hold few locks for long.
    constexpr nanos long_enough = 300'000'000'000;
    if (!is_disease(wanted) && f.time >= long_enough && f.counts.renewed == 0) {
        result.emplace_back("no lock was kept alive");
    }
    if (!is_disease(wanted) && f.counts.written == 0) {
        result.emplace_back("no update was written");
    }
    if (!is_disease(wanted) && 10 * f.updates_judged < 9 * f.counts.written) {
        result.emplace_back(
            "more than one update of ten was done beside late ones, and proves nothing");
    }
    if (wanted == demand::safety_and_progress) {
        if (const auto why = too_little(f.watched, f.time)) {
            result.push_back("progress was watched too little: " + *why);
        }
    }
    for (const auto& name : f.never_done) {
        result.push_back("never injected: " + name);
    }
    return result;
}

bool is_as_demanded(demand wanted, const findings& f)
{
    if (!missed(wanted, f).empty() || !f.complaints.empty() ||
        (f.tokens_hold && !f.disordered.empty())) {
        return false;
    }
    switch (wanted) {
        case demand::safety_and_progress:
        case demand::safety_and_recovery: return f.double_leases.empty() && f.lost_updates == 0;
        case demand::double_lease: return !f.double_leases.empty();
        case demand::lost_update: return f.lost_updates != 0 && f.double_leases.empty();
    }
    return false;
}

}  // namespace

void print_line(std::ostream& out, std::int64_t second, const tally& counts, const tally& before,
                const std::string& in_force)
{
    out << std::setw(5) << second << " s  acquired " << std::setw(4)
        << counts.acquired - before.acquired
        << ", not: " << in_words(counts.not_acquired, before.not_acquired)
        << "; in force: " << in_force << std::endl;
}

bool print_verdict(std::ostream& out, demand wanted, const findings& f)
{
    out << '\n';
    print_counts(out, f);
    print_examples(out, f);
    if (!f.complaints.empty()) {
        out << "complaints " << f.complaints.size() << ", the first: " << f.complaints.front()
            << '\n';
    }
    for (const auto& what : missed(wanted, f)) {
        out << "the run is about nothing: " << what << '\n';
    }
    if (!f.packets_kept.empty()) {
        out << "no packets were lost, which this run is about as well: " << f.packets_kept << '\n';
    }
    const bool good = is_as_demanded(wanted, f);
    if (is_disease(wanted)) {
        out << (good
                    ? "seen, as it has to be\n"
                    : "FAILED: the disease was not seen, came of nothing, or did not come alone\n");
    } else {
        out << (good ? "all was as demanded\n" : "FAILED\n");
    }
    out.flush();
    return good;
}

}  // namespace redlock::chaos
