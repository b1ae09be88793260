#include "chaos/chronicle.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <unordered_set>

namespace redlock::chaos {

void chronicle::add(unsigned process, const record& what)
{
    const worker_id who{process, what.worker};
    auto& w = workers_[who];
    const auto why = static_cast<std::size_t>(what.why);
    switch (what.what) {
        case event::acquire_begins:
            // A belief in a dropped lock continues.
            end_belief(w, what.at);
            begin_operation(w, what);
            break;
        case event::token:
            tokens_.push_back(
                {w.operation_since, what.at, what.value, what.resource, process, what.worker});
            break;
        case event::acquired:
            end_operation(w, who, what.at);
            w.held = stretch{what.at, what.value, what.resource, process, what.worker};
            last_acquired_[{process, what.resource}] = what.at;
            ++counts_.acquired;
            break;
        case event::not_acquired:
            end_operation(w, who, what.at);
            ++counts_.not_acquired.at(why);
            break;
        case event::extend_begins: begin_operation(w, what); break;
        case event::extended:
            end_operation(w, who, what.at);
            if (w.held) {
                w.held->until = std::max(w.held->until, what.value);
            }
            ++counts_.extended;
            break;
        case event::not_extended:
            end_operation(w, who, what.at);
            ++counts_.not_extended.at(why);
            break;
        case event::renewed:
            if (w.held) {
                w.held->until = std::max(w.held->until, what.value);
            }
            ++counts_.renewed;
            break;
        case event::gives_back:
            end_belief(w, what.at);
            begin_operation(w, what);
            break;
        case event::given_back:
            end_operation(w, who, what.at);
            ++(what.why == reason::none ? counts_.given_back : counts_.not_given_back.at(why));
            break;
        case event::reads: w.reading_since = what.at; break;
        case event::wrote_late: ++counts_.late; [[fallthrough]];
        case event::wrote: end_step(w, who, what); break;
        case event::refrained: ++counts_.refrained; break;
        case event::stood_still: pauses_[process].push_back({what.at - what.value, what.at}); break;
    }
}

void chronicle::begin_operation(worker_state& of, const record& what)
{
    of.operation_since = what.at;
    of.operation_allowed = what.value;
}

void chronicle::end_operation(worker_state& of, worker_id who, nanos at)
{
    longest_operation_ = std::max(longest_operation_, at - of.operation_since);
    note_late(of, who, at);
    of.operation_since = 0;
}

void chronicle::note_late(const worker_state& of, worker_id who, nanos at)
{
    if (at - of.operation_since > of.operation_allowed) {
        late_.push_back({of.operation_since, at, of.operation_allowed, who.first, who.second});
    }
}

void chronicle::end_belief(worker_state& of, nanos at)
{
    if (of.held) {
        of.held->until = std::min(of.held->until, at);
        past_leases_.push_back(*of.held);
        nanos& last = held_until_[of.held->resource];
        last = std::max(last, of.held->until);
        of.held.reset();
    }
}

void chronicle::end_step(const worker_state& of, worker_id who, const record& what)
{
    ++counts_.written;
    updates_[what.resource].push_back({of.reading_since, what.at,
                                       static_cast<std::uint64_t>(what.value),
                                       what.what == event::wrote_late});
    steps_.push_back({of.reading_since, what.at, what.resource, who.first, who.second});
}

void chronicle::died(unsigned process, nanos at)
{
    for (auto& [who, w] : workers_) {
        if (who.first == process && w.operation_since != 0) {
            note_late(w, who, at);
            w.operation_since = 0;
        }
    }
}

std::vector<stretch> chronicle::leases() const
{
    auto result = past_leases_;
    for (const auto& [who, w] : workers_) {
        if (w.held) {
            result.push_back(*w.held);
        }
    }
    return result;
}

std::vector<std::uint64_t> chronicle::written(unsigned resource) const
{
    std::vector<std::uint64_t> result;
    if (const auto found = updates_.find(resource); found != updates_.end()) {
        for (const update& each : found->second) {
            result.push_back(each.element);
        }
    }
    return result;
}

std::vector<std::uint64_t> chronicle::written_apart_from_late(unsigned resource) const
{
    std::vector<std::uint64_t> result;
    const auto found = updates_.find(resource);
    if (found == updates_.end()) {
        return result;
    }
    std::vector<update> late;
    std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(late),
                 [](const update& each) { return each.late; });
    for (const update& each : found->second) {
        // A late update overlaps with itself.
        if (std::none_of(late.begin(), late.end(), [&](const update& other) {
                return each.read <= other.written && other.read <= each.written;
            })) {
            result.push_back(each.element);
        }
    }
    return result;
}

nanos chronicle::last_acquired(unsigned process, unsigned resource) const
{
    const auto found = last_acquired_.find({process, resource});
    return found == last_acquired_.end() ? 0 : found->second;
}

nanos chronicle::last_acquired(unsigned resource) const
{
    nanos result = 0;
    for (const auto& [what, at] : last_acquired_) {
        if (what.second == resource) {
            result = std::max(result, at);
        }
    }
    return result;
}

nanos chronicle::held_until(unsigned resource) const
{
    const auto found = held_until_.find(resource);
    nanos result = found == held_until_.end() ? 0 : found->second;
    for (const auto& [who, w] : workers_) {
        if (w.held && w.held->resource == resource) {
            result = std::max(result, w.held->until);
        }
    }
    return result;
}

/// Leaves out the time for which the process was suspended.
nanos chronicle::overdue_by(const late_operation& which) const
{
    nanos result = which.ended - which.begun - which.allowed;
    if (const auto found = pauses_.find(which.process); found != pauses_.end()) {
        for (const pause& p : found->second) {
            result -=
                std::max<nanos>(std::min(p.until, which.ended) - std::max(p.from, which.begun), 0);
        }
    }
    return result;
}

nanos chronicle::most_overdue() const
{
    nanos result = 0;
    for (const auto& each : late_) {
        result = std::max(result, overdue_by(each));
    }
    return result;
}

std::vector<late_operation> chronicle::overdue(nanos margin) const
{
    std::vector<late_operation> result;
    std::copy_if(late_.begin(), late_.end(), std::back_inserter(result),
                 [&](const late_operation& each) { return overdue_by(each) > margin; });
    return result;
}

std::vector<open_operation> chronicle::open_operations() const
{
    std::vector<open_operation> result;
    for (const auto& [who, w] : workers_) {
        if (w.operation_since != 0) {
            result.push_back({w.operation_since, who.first, who.second});
        }
    }
    return result;
}

std::vector<std::pair<stretch, stretch>> overlaps(std::vector<stretch> all)
{
    // A lease that ended before its worker heard of it was never believed in.
    std::erase_if(all, [](const stretch& s) { return s.until <= s.from; });
    std::sort(all.begin(), all.end(), [](const stretch& a, const stretch& b) {
        return std::tie(a.resource, a.from) < std::tie(b.resource, b.from);
    });
    std::vector<std::pair<stretch, stretch>> result;
    const stretch* longest = nullptr;
    for (const auto& next : all) {
        if (longest != nullptr && longest->resource == next.resource &&
            next.from < longest->until) {
            result.emplace_back(*longest, next);
        }
        if (longest == nullptr || longest->resource != next.resource ||
            longest->until < next.until) {
            longest = &next;
        }
    }
    return result;
}

std::vector<std::pair<granted, granted>> disorder(std::vector<granted> all)
{
    std::vector<std::pair<granted, granted>> result;
    std::sort(all.begin(), all.end(), [](const granted& a, const granted& b) {
        return std::tie(a.resource, a.token) < std::tie(b.resource, b.token);
    });
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i - 1].resource == all[i].resource && all[i - 1].token == all[i].token) {
            result.emplace_back(all[i - 1], all[i]);
        }
    }
    auto by_begin = all;
    const auto before = [](nanos granted::*when) {
        return [when](const granted& a, const granted& b) {
            return std::tie(a.resource, a.*when) < std::tie(b.resource, b.*when);
        };
    };
    std::sort(all.begin(), all.end(), before(&granted::known));
    std::sort(by_begin.begin(), by_begin.end(), before(&granted::begun));
    auto next = all.begin();
    const granted* largest = nullptr;
    for (const granted& g : by_begin) {
        for (; next != all.end() && (next->resource < g.resource ||
                                     (next->resource == g.resource && next->known < g.begun));
             ++next) {
            if (largest == nullptr || largest->resource != next->resource ||
                largest->token < next->token) {
                largest = &*next;
            }
        }
        if (largest != nullptr && largest->resource == g.resource && g.token < largest->token) {
            result.emplace_back(*largest, g);
        }
    }
    return result;
}

std::vector<std::uint64_t> missing(std::span<const std::uint64_t> written,
                                   std::span<const std::uint64_t> there)
{
    const std::unordered_set<std::uint64_t> known(there.begin(), there.end());
    std::vector<std::uint64_t> result;
    std::copy_if(written.begin(), written.end(), std::back_inserter(result),
                 [&](std::uint64_t element) { return !known.contains(element); });
    return result;
}

}  // namespace redlock::chaos
