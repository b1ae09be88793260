#include "load/figures.hpp"

#include <algorithm>
#include <utility>

namespace redlock::bench {
namespace {

using counts = std::map<error_code, std::uint64_t>;

void add(counts& to, const counts& from)
{
    for (const auto& [code, count] : from) {
        to[code] += count;
    }
}

std::uint64_t sum(const counts& all)
{
    std::uint64_t total = 0;
    for (const auto& [code, count] : all) {
        total += count;
    }
    return total;
}

std::string name_of(error_code code)
{
    if (code.category() != error_category()) {
        return code.message();
    }
    switch (static_cast<errc>(code.value())) {
        case errc::contended: return "contended";
        case errc::unavailable: return "unavailable";
        case errc::expired: return "expired";
        case errc::lost: return "lost";
        case errc::timed_out: return "timed_out";
        case errc::not_held: return "not_held";
        case errc::closed: return "closed";
        case errc::overloaded: return "overloaded";
        case errc::too_many_waiters: return "too many waiters";
        case errc::no_entropy: return "no_entropy";
        case errc::held_in_part: return "held_in_part";
        case errc::no_fencing_token: return "no_fencing_token";
        case errc::invalid_resource: return "invalid_resource";
        case errc::invalid_ttl: return "invalid_ttl";
        case errc::invalid_max_hold: return "invalid_max_hold";
        case errc::invalid_timeout: return "invalid_timeout";
        case errc::invalid_max_attempts: return "invalid_max_attempts";
        case errc::invalid_label: return "invalid_label";
        case errc::invalid_max_outage: return "invalid_max_outage";
        case errc::invalid_min_validity: return "invalid_min_validity";
        case errc::duplicate_resource: return "duplicate_resource";
        case errc::invalid_owner_token: return "invalid_owner_token";
        case errc::invalid_config: return "invalid_config";
    }
    return code.message();
}

}  // namespace

void figures::merge(const figures& later)
{
    acquires.merge(later.acquires);
    releases.merge(later.releases);
    cycles += later.cycles;
    cycles_of.resize(std::max(cycles_of.size(), later.cycles_of.size()));
    for (std::size_t i = 0; i < later.cycles_of.size(); ++i) {
        cycles_of[i] += later.cycles_of[i];
    }
    add(acquire_errors, later.acquire_errors);
    add(release_errors, later.release_errors);
    not_held += later.not_held;
    violations += later.violations;
    slowest_failure = std::max(slowest_failure, later.slowest_failure);
    slow_failures += later.slow_failures;
    if (!first_acquired) {
        first_acquired = later.first_acquired;
    }
}

std::uint64_t figures::failures() const noexcept
{
    return sum(acquire_errors) + sum(release_errors) + not_held;
}

std::uint64_t figures::failed_by(errc e) const
{
    const auto found = acquire_errors.find(make_error_code(e));
    return found == acquire_errors.end() ? 0 : found->second;
}

std::uint64_t figures::failed_otherwise() const
{
    return sum(acquire_errors) - failed_by(errc::contended);
}

std::map<std::string, std::uint64_t> failures_by_name(const figures& f)
{
    std::map<std::string, std::uint64_t> all;
    for (const auto& [code, count] : f.acquire_errors) {
        all[name_of(code)] += count;
    }
    for (const auto& [code, count] : f.release_errors) {
        all["release: " + name_of(code)] += count;
    }
    if (f.not_held != 0) {
        all["release: not_held"] += f.not_held;
    }
    return all;
}

void scorer::acquired(std::size_t resource, const lock& l, bench_clock::time_point began)
{
    const auto now = bench_clock::now();
    now_.acquires.add(now - began);
    if (!now_.first_acquired) [[unlikely]] {
        now_.first_acquired = now;
    }
    auto& until = held_until_[resource];
    // A lock that has run out may belong to another worker.
    if (until != boot_clock::time_point{} && until > boot_clock::now()) [[unlikely]] {
        ++now_.violations;
    }
    until = l.valid_until();
}

void scorer::not_acquired(error_code why, bench_clock::time_point began)
{
    const auto took = bench_clock::now() - began;
    now_.slowest_failure = std::max(now_.slowest_failure, took);
    now_.slow_failures += took > slow ? 1U : 0U;
    ++now_.acquire_errors[why];
}

void scorer::released(std::size_t worker, error_code why, release_result found,
                      bench_clock::time_point began)
{
    if (why) [[unlikely]] {
        ++now_.release_errors[why];
        return;
    }
    now_.releases.add(bench_clock::now() - began);
    ++now_.cycles;
    ++now_.cycles_of[worker];
    if (found == release_result::not_held) [[unlikely]] {
        ++now_.not_held;
    }
}

figures scorer::take()
{
    figures next;
    next.cycles_of.resize(now_.cycles_of.size());
    return std::exchange(now_, std::move(next));
}

}  // namespace redlock::bench
