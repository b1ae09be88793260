#include "sim/world.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iomanip>

namespace redlock::sim {

using namespace std::chrono_literals;

namespace {

/// The longest time with faults. Acquires that still wait get their lock in the quiet that follows.
constexpr nanos longest_play = 30s;

/// More than ten times what the longest of many plays needs.
constexpr std::uint64_t most_events = 1'000'000;

}  // namespace

void tally::add(const tally& t)
{
    events += t.events;
    acquired += t.acquired;
    extended += t.extended;
    released += t.released;
    nested += t.nested;
    contended += t.contended;
    unavailable += t.unavailable;
    timed_out += t.timed_out;
    expired += t.expired;
    lost += t.lost;
    cancelled += t.cancelled;
    closed += t.closed;
    without_room += t.without_room;
    too_many += t.too_many;
    adopted += t.adopted;
    renewed += t.renewed;
    limits_reached += t.limits_reached;
    losses_told += t.losses_told;
    served_when_quiet += t.served_when_quiet;
    with_some_ill += t.with_some_ill;
    proved_with_some_ill += t.proved_with_some_ill;
    woken_granted += t.woken_granted;
    woken_refused += t.woken_refused;
    polls += t.polls;
    raises += t.raises;
    raises_spoiled += t.raises_spoiled;
    answers_spoiled += t.answers_spoiled;
    overlaps += t.overlaps;
    counters_expired += t.counters_expired;
    ends_told += t.ends_told;
    judged += t.judged;
    hashes += t.hashes;
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        struck[i] += t.struck[i];
    }
}

void tally::add(const stats& s)
{
    woken_granted += s.notified_attempts_granted;
    woken_refused += s.notified_attempts_refused;
    polls += s.polls;
    raises += s.counter_alignments;
}

world::world(plan p, std::ostream* trace)
    : plan_(std::move(p)),
      trace_(trace),
      checks(*this),
      net(*this),
      faults(*this),
      acquires_left(plan_.acquires)
{
    for (unsigned n = 0; n < plan_.nodes; ++n) {
        servers.push_back(std::make_unique<server>(*this, n));
    }
    for (unsigned c = 0; c < plan_.clients; ++c) {
        clients.push_back(std::make_unique<client>(*this, c));
    }
}

world::~world() = default;

void world::begin_line()
{
    const auto us =
        std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch() - 1000h);
    *trace_ << std::setw(10) << us.count() << " us  ";
}

void world::schedule(nanos in, event_kind kind, unsigned who, std::uint64_t which,
                     std::uint64_t what)
{
    events_.at(now() + in, {kind, who, which, what});
}

void world::mix(std::uint64_t value) noexcept
{
    hash_ = std::rotl(hash_ ^ value, 27) * 0x9e3779b97f4a7c15U;
}

void world::mix_bytes(std::string_view bytes) noexcept
{
    mix(bytes.size());
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 8))) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), std::min<std::size_t>(bytes.size(), 8));
        mix(value);
    }
}

void world::count(const call& c, const error_code& ec)
{
    using kind = core::operation::kind;
    if (c.what == kind::wait_lost) {
        counts.losses_told += ec == errc::lost;
        return;
    }
    counts.acquired += c.what == kind::acquire && !ec;
    counts.adopted += c.what == kind::adopt && !ec;
    counts.extended += c.what == kind::extend && !ec;
    counts.released += c.what == kind::release && !ec;
    counts.served_when_quiet += c.what == kind::acquire && !ec && quiet_;
    counts.contended += ec == errc::contended;
    counts.unavailable += ec == errc::unavailable;
    counts.timed_out += ec == errc::timed_out;
    counts.expired += ec == errc::expired;
    counts.lost += ec == errc::lost;
    counts.closed += ec == errc::closed;
    counts.too_many += ec == errc::too_many_waiters;
    counts.cancelled += c.cancelled && ec;
}

void world::dispatch(const event& e)
{
    if (++counts.events > most_events) {
        checks.condemn("it goes on without end");
    }
    checks.look_at_what_is_due();
    mix(static_cast<std::uint64_t>(now().time_since_epoch().count()));
    mix((static_cast<std::uint64_t>(e.kind) << 56U) ^ (e.which << 24U) ^ (e.what << 8U) ^ e.who);
    switch (e.kind) {
        case event_kind::bytes_up: net.on_bytes_up(net.at(e.which)); return;
        case event_kind::bytes_down: net.on_bytes_down(net.at(e.which)); return;
        case event_kind::dialled: net.on_dialled(net.at(e.which)); return;
        case event_kind::told_closed: net.on_told_closed(net.at(e.which)); return;
        case event_kind::written: clients[e.who]->on_written(net.at(e.which)); return;
        case event_kind::timer:
        case event_kind::turn:
        case event_kind::step:
        case event_kind::cancel: clients[e.who]->on_event(e); return;
        case event_kind::resume: clients[e.who]->resume(); return;
        case event_kind::rebirth: clients[e.who]->begin(); return;
        case event_kind::wake: servers[e.who]->wake(); return;
        case event_kind::restarted: servers[e.who]->restart(); return;
        case event_kind::ends: servers[e.who]->look_for_ends(); return;
        case event_kind::relief: faults.relieve(e.who); return;
        case event_kind::strike: faults.strike(static_cast<unsigned>(e.which)); return;
    }
}

/// Whether no call is pending and no task will begin one.
bool world::is_over() const
{
    return acquires_left == 0 && std::all_of(clients.begin(), clients.end(), [](const auto& c) {
               return !c->is_alive() || (!c->has_calls() && c->app().is_idle());
           });
}

void world::run_until(instant end)
{
    while (!events_.empty() && events_.next() <= end) {
        dispatch(events_.take().second);
        if (stop_when_over_ && is_over()) {
            return;
        }
    }
    events_.pass_to(end);
}

void world::run()
{
    for (const auto& c : clients) {
        c->begin();
    }
    faults.begin();
    stop_when_over_ = true;
    run_until(now() + longest_play);
    calm_down();
    for (const auto& c : clients) {
        if (c->is_alive()) {
            c->put_down();
        }
    }
}

/// Ends all faults. Waiting acquires must get their lock, though a minority may be faulty. Once all
/// nodes are healthy, nothing may be left.
void world::calm_down()
{
    faults.forget_once_more();
    say("---- from here on nothing goes wrong");
    quiet_ = true;
    acquires_left = 0;
    faults.stop();
    if (plan_.only_tokens) {
        run_until(now() + 10s);  // if dates are too far apart, no client may get a lock
        return;
    }
    faults.leave_some_ill();
    counts.with_some_ill += static_cast<std::uint64_t>(faults.ill() > 0);
    // Acquires without a limit may have to wait for several abandoned locks, one after another.
    run_until(now() + 60s + plan_.longest_ttl() * 2);
    if (!is_over()) {
        checks.fail("somebody was not served, though a majority was well for so long");
    }
    stop_when_over_ = false;
    prove_with_some_ill();
    faults.heal();
    run_until(now() + 8s);
    forgive_dropped_debts();
    checks.nothing_left();
    const nanos until_all_is_forgotten = plan_.longest_ttl() * 2 + 130s;
    run_until(now() + until_all_is_forgotten);
    prove_all();
    run_until(now() + 5s);  // servers hear in this time that no client waits any more
    if (!rests()) {
        // Some servers notice only now that a connection is gone.
        run_until(now() + until_all_is_forgotten);
    }
    check_rest();
}

/// A client with too many pending releases drops the oldest. Their keys may stay.
void world::forgive_dropped_debts()
{
    for (unsigned i = 0; i < clients.size(); ++i) {
        if (clients[i]->snapshot().pending_releases_dropped > 0) {
            checks.orphan_tokens_of(i);
        }
    }
}

void world::prove_all()
{
    for (unsigned i = 0; i < clients.size(); ++i) {
        prove(*clients[i], "r" + std::to_string(i % plan_.resources));
        prove_waiting(*clients[i], i, "r0");
    }
    if (plan_.outside != beyond::nothing) {
        return;  // such nodes may refuse a free lock
    }
    random_source r(plan_.seed, 850);
    prove_keeping(*clients[r.below(clients.size())], "r0");
    prove_passing_on(*clients[r.below(clients.size())], "r8");
    // In one play of four, since it takes as many events as a small play.
    if (r.below(4) == 0) {
        prove_thrift(*clients[r.below(clients.size())], "r0");
    }
}

/// Tests one client, once it runs, with a lock that no client has abandoned.
void world::prove_with_some_ill()
{
    if (faults.ill() == 0) {
        return;
    }
    random_source r(plan_.seed, 851);
    const auto i = static_cast<unsigned>(r.below(clients.size()));
    client& c = *clients[i];
    const instant end = now() + 10s;
    while ((!c.is_alive() || c.is_paused() || c.is_ending()) && now() < end) {
        run_until(now() + 100ms);
    }
    run_until(now() + 2s);
    if (!checks.can_be_served(i)) {
        return;  // under the restart guard this may take some ttls
    }
    ++counts.proved_with_some_ill;
    prove(c, "r9");
    prove_waiting(c, i, "r9");
}

/// A free lock is acquired, kept and released at once.
void world::prove(client& c, const std::string& resource)
{
    c.app().prove(resource);
    run_until(now() + 1s);
    if (!c.app().has_proved()) {
        checks.fail("all is well, and an operation does not end");
    }
}

/// Repeating an operation takes no more memory.
void world::prove_thrift(client& c, const std::string& resource)
{
    constexpr int times = 10;  // a buffer that grows by half or by doubling rarely grows
    prove(c, resource);
    const std::int64_t before = c.memory();
    for (int n = 0; n < times; ++n) {
        prove(c, resource);
    }
    // The client keeps a reply that comes in pieces until it is complete, perhaps for the first
    // time.
    constexpr std::int64_t longest_reply = 128;
    if (c.memory() > before + longest_reply * static_cast<std::int64_t>(c.nodes())) {
        checks.condemn("a lock that was had and given back leaves " +
                       std::to_string(c.memory() - before) + " bytes");
    }
}

nanos world::time_to_pass_dead_waiters(const std::string& resource) const
{
    const std::string prefix = plan_.key_prefix + resource + ':';
    std::ptrdiff_t tickets = 0;
    for (const auto& s : servers) {
        tickets = std::max(tickets, std::ranges::count_if(s->master.all(), [&](const auto& entry) {
                               return entry.first.starts_with(prefix) &&
                                      entry.first.ends_with(base::ticket_suffix);
                           }));
    }
    // The key of a single one is removed at once, and the keys of several end after a second.
    return tickets <= 1 ? 0ms : tickets == 2 ? 500ms : 1500ms;
}

/// A waiter for a stranger's lock gets it soon after it is free, by a notification or by polling.
void world::prove_waiting(client& c, unsigned index, const std::string& resource)
{
    if (plan_.backoff_max == 0ms) {
        return;  // a waiter without a back-off gets the lock without a notification
    }
    random_source r(plan_.seed, 800 + index);
    const auto how = static_cast<parting>(r.below(4));
    const std::string key = plan_.key_prefix + resource;
    for (const auto& s : servers) {
        s->give_to_stranger(key);
    }
    c.app().prove_waiting(resource);
    run_until(now() + r.between(200ms, 3s));
    for (const auto& s : servers) {
        s->take_from_stranger(key, how);
    }
    // Some round trips. A waiter that polls does so at the longest interval.
    nanos bound = 40 * plan_.longest_way + plan_.backoff_max;
    bound += how == parting::untold ? nanos{plan_.max_poll_interval} : 0ms;
    bound += how == parting::cut ? nanos{c.settings().node_timeout + plan_.backoff_max} : 0ms;
    const nanos of_dead_waiters = time_to_pass_dead_waiters(resource);
    bound += of_dead_waiters > nanos{} ? plan_.max_poll_interval + of_dead_waiters : nanos{};
    const instant end = now() + bound * 5 / 4;  // by any clock
    while (!c.app().has_proved() && now() < end) {
        run_until(now() + 5ms);
    }
    if (!c.app().has_proved()) {
        checks.fail("c" + std::to_string(index) +
                    ": all is well, but who waits for a free lock has to " + "go on waiting");
    }
    run_until(now() + 1s);
}

/// A kept-alive lock survives although no node answers one of its renewals.
void world::prove_keeping(client& c, const std::string& resource)
{
    if (plan_.is_tight()) {
        return;
    }
    const nanos ttl = *std::min_element(plan_.ttls.begin(), plan_.ttls.end());
    c.app().prove_keeping(resource);
    run_until(now() + 1s);
    for (const auto& s : servers) {
        s->fall_ill(illness::blocked);
    }
    const std::uint64_t before = c.snapshot().renewal_unknown;
    const instant end = now() + ttl;
    while (c.snapshot().renewal_unknown == before && now() < end) {
        run_until(now() + 5ms);
    }
    for (const auto& s : servers) {
        s->heal();
    }
    if (c.snapshot().renewal_unknown == before) {
        checks.fail("a lock that is to be kept alive is not renewed");
    }
    run_until(now() + 3 * ttl);
    c.app().demand_kept();
    run_until(now() + 1s);
    if (!c.app().has_proved()) {
        checks.fail("all is well, and a lock that was kept alive is not given back");
    }
}

/// A waiter gets the lock when another acquire of its client releases it, although a node is
/// blocked. The resource is new to the client, since a client sometimes lets others in.
void world::prove_passing_on(client& c, const std::string& resource)
{
    if (plan_.is_tight() || plan_.has(fault::script_flush)) {
        return;  // without room, or after a release that is sent again, a node fails the second
    }
    random_source r(plan_.seed, 852);
    const auto until = [this, &c](bool (application::*is_there)() const, instant end) {
        while (!(c.app().*is_there)() && now() < end) {
            run_until(now() + 1ms);
        }
    };
    c.app().prove_passing_on(resource);
    until(&application::stands_in_line, now() + 1s);
    run_until(now() + r.between(1ms, 30ms));
    if (plan_.nodes > 2) {
        faults.make_ill(r.below(plan_.nodes), 1, illness::blocked);
    }
    c.app().pass_on();
    const nanos bound = 15 * plan_.longest_way + 10ms;  // some round trips
    until(&application::is_served, now() + bound * 5 / 4);
    c.app().demand_passed_on();
    faults.heal();
    run_until(now() + 1s);
    if (!c.app().has_proved()) {
        checks.fail("all is well, and a lock that was passed on is not given back");
    }
}

bool world::rests() const
{
    return std::all_of(clients.begin(), clients.end(), [this](const auto& c) { return rests(*c); });
}

/// Whether every record is back in its pool and every connection is up.
bool world::rests(const client& c) const
{
    const stats s = c.snapshot();
    return s.in_flight == 0 && s.leases == 0 && s.pending_releases == 0 && s.unanswered == 0 &&
           s.buffered_bytes == 0 && c.has_no_records() && s.nodes_ready == c.nodes() &&
           s.nodes_quarantined == 0;
}

/// Whether a server still remembers which keys the client has read.
bool world::is_tracked_for(unsigned client)
{
    for (unsigned n = 0; n < plan_.nodes; ++n) {
        for (const link* l : net.between(client, n)) {
            if (l->server_end && l->session.tracks != test::session::tracking::off) {
                return true;
            }
        }
    }
    return false;
}

/// Checks one client after the other, each when it has heard nothing for a while. The timer of a
/// ping remains for a moment after the answer. So the check avoids that time and the time of the
/// next ping.
void world::check_rest()
{
    constexpr int longest_talk = 60;
    for (unsigned i = 0; i < clients.size(); ++i) {
        const client& c = *clients[i];
        const auto talks = [&c] {
            return c.heard_last() + 1s > c.local_now() || c.next_ping() < c.local_now() + 1s;
        };
        for (int n = 0; n < longest_talk && talks(); ++n) {
            run_until(now() + 1s);
        }
        if (!rests(c)) {
            const stats s = c.snapshot();
            say("c", i, ": in flight ", s.in_flight, ", leases ", s.leases, ", pending releases ",
                s.pending_releases, ", unanswered ", s.unanswered, ", bytes ", s.buffered_bytes,
                ", ready ", s.nodes_ready, ", quarantined ", s.nodes_quarantined, ", no records ",
                c.has_no_records());
            checks.condemn("c" + std::to_string(i) + ": something is left when nothing happens");
        }
        if (is_tracked_for(i)) {
            checks.fail("c" + std::to_string(i) + ": is to be told of keys that it does not want");
        }
        if (c.next_deadline() != c.next_ping()) {
            checks.fail("c" + std::to_string(i) + ": a timer is left when nothing happens");
        }
    }
}

}  // namespace redlock::sim
