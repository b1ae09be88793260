#include "sim/plan.hpp"

#include "support/virtual/random.hpp"

#include <algorithm>

namespace redlock::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::random_source;

namespace {

constexpr std::array<std::string_view, fault_kinds> fault_names{
    "delay",       "split",          "cut",          "black_hole", "half_open",     "slow_write",
    "slow_dial",   "node_pause",     "node_block",   "restart",    "restart_empty", "full",
    "loading",     "script_flush",   "old_server",   "clock_rate", "clock_offset",  "client_pause",
    "client_kill", "client_destroy", "client_close", "cancel",     "drop",          "hand_over",
    "forget",      "push",           "raise",        "demoted",
};

std::vector<milliseconds> some_ttls(random_source& r)
{
    // Either leases end during the play, or no key expires before the end of the play is checked.
    if (r.one_in(2)) {
        return {milliseconds{r.between(200, 400)}, milliseconds{r.between(200, 1500)}};
    }
    return {60s};
}

}  // namespace

std::string_view name_of(fault f) noexcept
{
    return fault_names[static_cast<std::size_t>(f)];
}

std::optional<fault> fault_named(std::string_view name) noexcept
{
    const auto at = std::find(fault_names.begin(), fault_names.end(), name);
    if (at == fault_names.end()) {
        return std::nullopt;
    }
    return static_cast<fault>(at - fault_names.begin());
}

std::string names_of(fault_set faults)
{
    std::string names;
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        if ((faults & only(static_cast<fault>(i))) != 0) {
            names += (names.empty() ? "" : ",") + std::string(fault_names[i]);
        }
    }
    return names.empty() ? "none" : names;
}

milliseconds plan::longest_ttl() const noexcept
{
    return *std::max_element(ttls.begin(), ttls.end());
}

milliseconds plan::longest_ttl_of(unsigned client) const noexcept
{
    const bool has_less = outside == beyond::unequal_max_ttl && client > 0;
    return has_less ? *std::min_element(ttls.begin(), ttls.end()) : longest_ttl();
}

unsigned plan::nodes_of(unsigned client) const noexcept
{
    const bool has_less = outside == beyond::unequal_nodes && client % 2 == 1;
    return has_less ? std::max(nodes, 3U) - 2 : nodes;
}

plan make_plan(const options& o)
{
    random_source r(o.seed, 1);
    plan p;
    p.seed = o.seed;
    p.outside = o.outside;
    p.nodes = static_cast<unsigned>(r.one_in(3) ? r.between(1, 7) : 3 + 2 * r.below(2));
    p.clients = static_cast<unsigned>(r.one_in(4) ? r.between(1, 6) : r.between(2, 3));
    p.tasks = static_cast<unsigned>(r.between(1, 3));
    p.resources = static_cast<unsigned>(r.between(1, 3));
    p.acquires = static_cast<unsigned>(r.one_in(8) ? r.between(30, 100) : r.between(4, 20));
    p.ttls = some_ttls(r);
    random_source keeping(o.seed, 300);
    p.keeps_one_in = keeping.one_in(2) ? static_cast<std::uint32_t>(keeping.between(1, 4)) : 0;
    if (p.keeps_one_in > 0 && keeping.one_in(4)) {
        // Long enough to keep a lock after a failed renewal, once all nodes are healthy again.
        p.ttls = {milliseconds{keeping.between(2000, 5000)}};
    }
    if (o.outside == beyond::unequal_max_ttl) {
        p.ttls = {200ms, 1500ms};
    }
    p.drift_factor = r.one_in(4) ? 0.1 : 0.01;
    p.least_way = r.between(10us, 1ms);
    p.longest_way = p.least_way + r.between(0us, 4ms);
    p.pace = r.between(1ms, 60ms);
    p.pings = !r.one_in(4);
    random_source f(o.seed, 3);
    p.only_tokens = o.only_tokens;
    p.fencing = !f.one_in(3) || o.only_tokens;
    p.counter_slack = milliseconds{p.longest_ttl().count() / 4};
    p.counter_ttl = f.one_in(2) ? base::nanos{150s} : base::nanos{24h};
    random_source lives(o.seed, 305);
    if (p.longest_ttl() < 10s && lives.one_in(2)) {
        // Short enough that counters expire again and again, and longer than tokens need.
        p.counter_ttl = p.counter_slack * static_cast<std::int64_t>(lives.between(5, 16)) / 2;
    }
    p.longest_counter_ttl = p.counter_ttl;
    random_source unequal(o.seed, 306);
    if (o.outside == beyond::unequal_counter_ttl || unequal.one_in(4)) {
        p.longest_counter_ttl *= static_cast<std::int64_t>(unequal.between(4, 8));
    }
    p.key_prefix = r.one_in(3) ? "locks:" : "";
    p.max_pending_releases = r.one_in(6) ? r.below(6) : 1000;
    // Fencing scripts may go out as their text.
    p.max_buffered_bytes =
        r.one_in(10) ? r.between(200, 3000) + (p.fencing ? 1500 : 0) : 1024 * 1024;
    if (r.one_in(6)) {
        p.backoff_min = p.backoff_max = 0ms;
    }
    if (p.is_tight()) {
        p.key_prefix += std::string(r.below(400), 'k');
        p.tasks = static_cast<unsigned>(r.between(1, 6));
        // A client that can neither send nor keep a release leaves the key until its ttl ends.
        p.max_pending_releases = std::max<std::size_t>(p.max_pending_releases, 1);
    }
    random_source limits(o.seed, 304);
    const auto some = [&limits](std::size_t most) {
        return limits.one_in(6) ? static_cast<std::size_t>(limits.between(1, 2)) : most;
    };
    p.max_in_flight = some(p.max_in_flight);
    p.max_waiters = some(p.max_waiters);
    p.max_waiters_per_resource = some(p.max_waiters_per_resource);

    random_source guard(o.seed, 2);
    p.guard = (guard.one_in(2) && may_be_guarded(o.outside)) || is_guarded(o.outside);
    p.new_masters = guard.one_in(8);
    // Otherwise the client would notice a loss only at the next vote and would then wait.
    p.pings = p.pings || p.guard;
    random_source grouping(o.seed, 301);
    p.groups_one_in = grouping.one_in(3) ? static_cast<std::uint32_t>(grouping.between(1, 4)) : 0;
    random_source waking(o.seed, 303);
    p.release_notifications = !waking.one_in(4);
    p.max_poll_interval = milliseconds{waking.between(50, 1000)};
    p.fair_queue = !waking.one_in(8);
    random_source owning(o.seed, 302);
    p.owns_one_in = owning.one_in(2) ? static_cast<std::uint32_t>(owning.between(1, 3)) : 0;

    // Some plays have hardly a fault, some are nothing but faults.
    const std::uint64_t share = r.below(5);
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        random_source own(o.seed, 100 + i);
        const bool chosen = own.below(4) < share;
        p.faults |= chosen ? only(static_cast<fault>(i)) : 0;
        p.every[i] = own.between(20ms, 1000ms);
        p.one_in[i] = static_cast<std::uint32_t>(own.between(2, 20));
    }
    // The client is also suspended between a decision and its report, and at a SET.
    p.one_in[static_cast<std::size_t>(fault::client_pause)] *= 10;
    p.one_in[static_cast<std::size_t>(fault::forget)] *= 10;
    if (p.is_tight()) {
        p.faults |= only(fault::slow_write);
        p.one_in[static_cast<std::size_t>(fault::slow_write)] = 2;
    }
    // In both directions or in one of them.
    const std::uint64_t directions = r.between(1, 3);
    p.delay_up_one_in = (directions & 1U) != 0 ? static_cast<std::uint32_t>(r.between(2, 40)) : 0;
    p.delay_down_one_in = (directions & 2U) != 0 ? static_cast<std::uint32_t>(r.between(2, 40)) : 0;
    p.faults &= o.allowed;
    if (!p.guard) {
        p.faults &= ~only(fault::forget);
    }
    if (p.longest_ttl() > 10s && !p.guard) {
        p.faults &= ~only(fault::restart_empty);  // no task has the time to wait
    }
    p.acquires = o.acquires.value_or(p.acquires);
    return p;
}

}  // namespace redlock::sim
