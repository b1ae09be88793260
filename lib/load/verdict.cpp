#include "load/verdict.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>

namespace redlock::bench {
namespace {

/// The share of acquires that may fail while a majority lives, not counting those refused for
/// another worker's lock, and of failures that may be slow without a majority. On a busy machine a
/// node or this program may wait for a processor for longer than the limits.
constexpr double tolerated_share = 0.01;

std::map<std::string, std::uint64_t> all_failures(std::span<const phase> phases)
{
    std::map<std::string, std::uint64_t> all;
    for (const auto& p : phases) {
        for (const auto& [name, count] : failures_by_name(p.total)) {
            all[name] += count;
        }
    }
    return all;
}

void check_locks(const phase& p, std::vector<std::string>& broken)
{
    const auto locks = p.total.acquires.count();
    const auto failed = p.total.failed_otherwise();
    if (locks == 0) {
        broken.push_back(p.name + ": no lock could be acquired");
    }
    if (static_cast<double>(failed) > tolerated_share * static_cast<double>(locks + failed)) {
        broken.push_back(p.name + ": " + std::to_string(failed) + " acquires failed");
    }
}

void check_no_locks(const phase& p, std::vector<std::string>& broken)
{
    if (p.late_acquires != 0) {
        broken.push_back(p.name + ": a minority granted locks");
    }
    if (p.total.failed_by(errc::unavailable) == 0) {
        broken.push_back(p.name + ": no acquire failed with unavailable");
    }
    if (p.total.failed_by(errc::unavailable) != p.total.failed_otherwise()) {
        broken.push_back(p.name + ": acquires failed with other errors than unavailable");
    }
    const auto failed = p.total.failed_otherwise();
    if (static_cast<double>(p.total.slow_failures) >
        tolerated_share * static_cast<double>(failed)) {
        broken.push_back(p.name + ": " + std::to_string(p.total.slow_failures) +
                         " acquires hung, one for " + milliseconds_text(p.total.slowest_failure));
    }
}

}  // namespace

void print_phases(std::ostream& out, std::span<const phase> phases)
{
    const auto failures = all_failures(phases);
    std::size_t widest = 5;
    for (const auto& p : phases) {
        widest = std::max(widest, p.name.size());
    }

    out << std::left << std::setw(static_cast<int>(widest)) << "phase" << std::right
        << "  acquires  acquires/s  p50 ms  p99 ms";
    for (const auto& [name, count] : failures) {
        out << "  " << name;
    }
    out << '\n' << std::fixed;
    for (const auto& p : phases) {
        const auto& locks = p.total.acquires;
        out << std::left << std::setw(static_cast<int>(widest)) << p.name << std::right
            << std::setw(10) << locks.count() << std::setw(12) << std::setprecision(0)
            << static_cast<double>(locks.count()) / p.seconds << std::setw(8)
            << latency_text(locks, 0.5) << std::setw(8) << latency_text(locks, 0.99);
        auto here = failures_by_name(p.total);
        for (const auto& [name, count] : failures) {
            out << std::setw(static_cast<int>(name.size()) + 2) << here[name];
        }
        out << '\n';
    }
}

std::vector<std::string> broken_promises(std::span<const phase> phases,
                                         std::optional<bench_clock::duration> recovery)
{
    std::vector<std::string> broken;
    for (const auto& p : phases) {
        if (p.total.violations != 0) {
            broken.push_back(p.name + ": one resource was held twice at a time, " +
                             std::to_string(p.total.violations) + " times");
        }
        switch (p.what) {
            case expected::locks: check_locks(p, broken); break;
            case expected::no_locks: check_no_locks(p, broken); break;
            case expected::either: break;
        }
    }
    if (!recovery) {
        broken.emplace_back("no lock could be acquired after the nodes were back");
    }
    return broken;
}

std::string latency_text(const histogram& h, double share)
{
    if (h.count() == 0) {
        return "-";
    }
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << h.percentile_us(share) / 1000;
    return text.str();
}

std::string milliseconds_text(bench_clock::duration d)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(1)
         << std::chrono::duration<double, std::milli>(d).count() << " ms";
    return text.str();
}

}  // namespace redlock::bench
