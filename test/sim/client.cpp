#include "sim/client.hpp"

#include "sim/names.hpp"
#include "sim/world.hpp"

#include <algorithm>
#include <bit>

namespace redlock::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// The size of the first commands to a node, and the longest time until they are written.
constexpr std::size_t longest_greeting = 10240;
constexpr nanos until_greeted = 1s;

/// A script as its text, with the name of each resource and of its counter.
std::size_t longest_command(const plan& p)
{
    return 2048 + 2 * p.resources * (p.key_prefix.size() + 32);
}

skewed_clock clock_of(const plan& p, unsigned index)
{
    random_source r(p.seed, 400 + index);
    const auto most = static_cast<std::int64_t>(p.drift_factor * 0.49e9);
    const auto ppb = static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(2 * most + 1)));
    const nanos offset = p.has(fault::clock_offset) ? r.between(-100'000s, 100'000s) : 0s;
    return {offset, p.has(fault::clock_rate) ? ppb - most : 0};
}

redlock::config config_of(const plan& p, unsigned client)
{
    redlock::config c;
    for (unsigned i = 0; i < p.nodes_of(client); ++i) {
        c.nodes.push_back("redis://10.0.0." + std::to_string(i + 1));
    }
    if (p.outside == beyond::false_durable) {
        c.nodes.front() += "?durable=1";
    }
    c.key_prefix = p.key_prefix;
    c.drift_factor = p.drift_factor;
    c.connect_timeout = 300ms;
    c.reconnect_backoff_max = 200ms;
    c.stall_timeout = 200ms;
    c.ping_interval = p.pings ? 30s : 0s;
    c.max_pending_releases = p.max_pending_releases;
    c.on_renewal = [](const renewal&) {};
    c.backoff_min = p.backoff_min;
    c.backoff_max = p.backoff_max;
    c.release_notifications = p.release_notifications;
    c.fair_queue = p.fair_queue;
    c.max_poll_interval = p.max_poll_interval;
    c.fencing = p.fencing;
    if (p.guard && (p.outside != beyond::one_unguarded || client > 0)) {
        c.restart_guard = guard_config{.max_ttl = p.longest_ttl_of(client)};
        c.restart_guard->admit_new_nodes = p.outside == beyond::admitted_at_once;
    }
    return c;
}

template <class What>
void each(core::node_mask nodes, What what)
{
    for (; nodes != 0; nodes &= nodes - 1) {
        what(static_cast<unsigned>(std::countr_zero(nodes)));
    }
}

}  // namespace

client::client(world& w, unsigned index)
    : w_(w),
      index_(index),
      clock_(clock_of(w.planned(), index)),
      random_(w.planned().seed, 500 + index),
      date_(w.clock()),
      settings_(
          std::make_unique<base::settings>(base::make_settings(config_of(w.planned(), index)))),
      core_(index),
      connections_(w.planned().nodes_of(index))
{
    random_source r(w.planned().seed, 600 + index);
    if (w.planned().has(fault::clock_offset)) {
        date_.offset =
            r.one_in(2) ? r.between(-1'000'000'000s, 1'000'000'000s) : r.between(-2s, 2s);
    }
    // Lower than a configuration allows, so that plays reach the limit.
    settings_->counter_slack =
        std::min<nanos>(w.planned().counter_slack, w.planned().longest_ttl_of(index) / 4);
    settings_->counter_ttl = w.planned().counter_ttl_of(index);
    settings_->max_buffered_bytes = w.planned().max_buffered_bytes;
    settings_->max_in_flight = w.planned().max_in_flight;
    settings_->max_waiters = w.planned().max_waiters;
    settings_->max_waiters_per_resource = w.planned().max_waiters_per_resource;
}

client::~client() = default;

bool client::is_paused() const noexcept
{
    return paused_until_ > w_.now();
}

instant client::local_now() const
{
    return clock_.shows(w_.now());
}

instant client::heard_last() const noexcept
{
    instant last{};
    for (const connection& c : connections_) {
        last = std::max(last, c.heard);
    }
    return last;
}

instant client::next_ping() const noexcept
{
    instant next = instant::max();
    if (settings_->ping_interval > nanos{}) {
        for (const connection& c : connections_) {
            next = std::min(next, c.heard + settings_->ping_interval);
        }
    }
    return next;
}

// Life of the client.

void client::begin()
{
    ++generation_;
    const std::uint64_t life = index_ * 1000 + generation_;
    entropy_ = std::make_unique<seeded_entropy>(w_.planned().seed, 10'000 + life);
    core_.begin(*settings_, *entropy_, date_);
    app_ = std::make_unique<application>(w_, *this, index_,
                                         random_source(w_.planned().seed, 20'000 + life),
                                         random_source(w_.planned().seed, 30'000 + life));
    armed_for_ = instant::max();
    turn_wanted_ = false;
    w_.checks.on_birth(index_);
    w_.say("c", index_, ": begins");
    core_->network().start(local_now());
    app_->begin();
    want_turn();
}

void client::pause(nanos span)
{
    paused_until_ = std::max(paused_until_, w_.now() + span);
    w_.schedule(paused_until_ - w_.now(), event_kind::resume, index_);
}

void client::resume()
{
    if (is_paused() || !is_alive()) {
        return;
    }
    resumed_at_ = w_.now();
    // One of these events may end the client.
    auto held_back = std::exchange(held_back_, {});
    for (const auto& what : held_back) {
        if (!is_alive()) {
            return;
        }
        what();
    }
    if (std::exchange(timer_held_back_, false) && is_alive()) {
        on_timer();
    }
}

void client::end(nanos away)
{
    w_.checks.end_beliefs_of(index_);
    w_.checks.orphan_tokens_of(index_);
    put_down();
    held_back_.clear();
    timer_held_back_ = false;
    ending_ = broken_off_ = false;
    closing_.reset();
    ++timer_;
    paused_until_ = {};
    disconnect_all();
    w_.schedule(away, event_kind::rebirth, index_);
}

/// Ends the core, whatever it is doing. No memory may remain.
void client::put_down()
{
    w_.counts.add(core_->snapshot());
    app_.reset();
    calls_.clear();
    core_.end();
    if (memory() != 0) {
        w_.checks.condemn("c" + std::to_string(index_) + ": " + std::to_string(memory()) +
                          " bytes of its core are left when it has ended");
    }
}

void client::kill(nanos away)
{
    w_.say("c", index_, ": is killed");
    end(away);
}

void client::destroy(nanos away)
{
    w_.say("c", index_, ": is destroyed");
    ending_ = true;
    app_->end();
    break_off(away);
}

/// Sends the releases of this turn as far as the sockets take them at once.
void client::break_off(nanos away)
{
    close_given_up();
    const core::node_mask written = core_->network().take_written();
    each(written, [this](unsigned n) { write(n); });
    broken_off_ = true;
    core_->stop(local_now());
    deliver();
    if (!calls_.empty() || core_->operations().size() != 0) {
        w_.checks.condemn("c" + std::to_string(index_) + ": ended with an operation in flight");
    }
    close_given_up();
    end(away);
}

void client::close(nanos away)
{
    w_.say("c", index_, ": is closed");
    ending_ = true;
    app_->end();
    const instant now = local_now();
    closing_ = {w_.now(), now + settings_->close_timeout, away};
    core_->close(now);
    want_turn();
}

void client::disconnect_all()
{
    for (connection& c : connections_) {
        if (c.of != nullptr) {
            w_.net.close_by_client(*c.of);
        }
        c = {};
    }
}

// Events from the network and the clock.

template <class What>
void client::unless_paused(What what)
{
    if (is_paused() || !held_back_.empty()) {
        held_back_.emplace_back(std::move(what));
    } else {
        what();
    }
}

void client::on_dialled(link& l)
{
    unless_paused([this, &l] {
        if (connections_[l.node].of != &l) {
            return;
        }
        w_.checks.on_heard(index_, l.node);
        if (l.refused) {
            on_closed(l);
            return;
        }
        w_.checks.mend(index_, l.node);
        core_->network().on_connected(local_now(), l.node);
        close_given_up();
        want_turn();
    });
}

void client::on_bytes(link& l, std::string_view bytes, instant proof)
{
    unless_paused([this, &l, text = std::string(bytes), proof] {
        if (connections_[l.node].of != &l) {
            return;
        }
        connections_[l.node].heard = local_now();
        std::string& said = connections_[l.node].said_last;
        said += text;
        if (said.find("NOSCRIPT") != std::string::npos) {
            connections_[l.node].greeted = w_.now();
        }
        said.erase(0, said.size() - std::min<std::size_t>(said.size(), 7));
        core_->network().on_bytes(local_now(), l.node, text);
        note_validity();
        w_.checks.on_proof(index_, l.node, proof);
        w_.checks.on_votes(l, text.size());
        close_given_up();
        want_turn();
        if (core_->operations().finished() > 0 && w_.faults.happens(fault::client_pause)) {
            stop_at_a_verdict();
        }
    });
}

/// Suspends the client before it reports a result. Sometimes an operation is cancelled just before.
void client::stop_at_a_verdict()
{
    const auto way = random_.below(8);
    if (way < 2 && w_.planned().has(fault::cancel)) {
        for (const call& c : calls_) {
            if (c.what == core::operation::kind::acquire && !c.cancelled) {
                cancel(c.serial);
                break;
            }
        }
    } else if (way == 2 && w_.planned().has(fault::client_close) && !ending_) {
        close(random_.between(1ms, 300ms));
    }
    w_.faults.halt(index_);
}

void client::on_closed(link& l)
{
    unless_paused([this, &l] {
        if (connections_[l.node].of != &l) {
            return;
        }
        w_.say("c", index_, " n", l.node, ": the connection is lost");
        w_.net.close_by_client(l);
        connections_[l.node] = {};
        w_.checks.upset(index_, l.node, w_.now());
        core_->network().on_closed(local_now(), l.node, "closed");
        want_turn();
    });
}

void client::on_event(const event& e)
{
    if (!is_alive() || e.which != generation_) {
        return;
    }
    if (e.kind == event_kind::timer) {
        if (e.what != timer_) {
            return;
        }
        if (is_paused() || !held_back_.empty()) {
            timer_held_back_ = true;
        } else {
            on_timer();
        }
        return;
    }
    unless_paused([this, e] {
        switch (e.kind) {
            case event_kind::turn: turn(); return;
            case event_kind::step: app_->step(static_cast<unsigned>(e.what)); return;
            case event_kind::cancel: cancel(e.what); return;
            case event_kind::bytes_up:
            case event_kind::bytes_down:
            case event_kind::dialled:
            case event_kind::told_closed:
            case event_kind::written:
            case event_kind::timer:
            case event_kind::resume:
            case event_kind::rebirth:
            case event_kind::wake:
            case event_kind::restarted:
            case event_kind::ends:
            case event_kind::relief:
            case event_kind::strike: return;  // events of others
        }
    });
}

void client::on_written(link& l)
{
    unless_paused([this, &l] {
        connection& c = connections_[l.node];
        if (c.of == &l) {
            c.writing = false;
            core_->network().on_written(l.node);
            write(l.node);
        }
    });
}

void client::on_timer()
{
    armed_for_ = instant::max();
    core_->on_time(local_now());
    note_validity();
    turn();
}

void client::cancel(std::uint64_t serial)
{
    for (call& c : calls_) {
        if (c.serial == serial) {
            w_.say("c", index_, ": cancels operation ", serial);
            c.cancelled = true;
            c.due = local_now();
            core_->operations().cancel(local_now(), *c.op);
            want_turn();
            return;
        }
    }
}

// Turns.

void client::want_turn()
{
    if (!std::exchange(turn_wanted_, true)) {
        w_.schedule(random_.between(0us, 100us), event_kind::turn, index_, generation_);
    }
}

void client::turn()
{
    turn_wanted_ = false;
    deliver();
    flush();
    if (is_alive()) {
        check_bounds();
    }
}

/// Reports losses before anything else.
void client::tell_losses()
{
    core_->check_leases(local_now());
    note_validity();
    for (core::renewal_news news; core_->take_news(news);) {
        app_->on_news(news);
        core_->forget(news);
    }
}

void client::deliver()
{
    tell_losses();
    note_holds();
    for (std::size_t n = core_->operations().finished(); n > 0; --n) {
        core::operation* const op = core_->operations().take_finished(local_now());
        if (op == nullptr) {
            break;
        }
        complete(*op);
    }
    if (core_->operations().finished() > 0) {
        want_turn();
    }
}

void client::complete(core::operation& op)
{
    const auto at =
        std::find_if(calls_.begin(), calls_.end(), [&](const call& c) { return &c == op.user; });
    if (at == calls_.end()) {
        w_.checks.condemn("an operation was completed that nobody waits for");
    }
    call c = *at;
    calls_.erase(at);
    note_validity();
    if (c.what != core::operation::kind::wait_lost) {
        check_losses_are_told();
    } else if (op.error != errc::lost) {
        c.due = local_now();
    }
    c.attempts = op.attempts_made;
    if (c.what == core::operation::kind::acquire && !op.error) {
        check_order(c);
    }
    const bool gives =
        c.what == core::operation::kind::acquire || c.what == core::operation::kind::adopt;
    const ending e{op.error, op.released, op.inspection ? *op.inspection : inspection{},
                   gives && !op.error ? op.subject : nullptr};
    core_->operations().recycle(op);
    w_.say("c", index_, " task ", c.task, ": operation ", c.serial, " on ", c.resource,
           " ends: ", e.error ? e.error.message() : "success");
    w_.mix(static_cast<std::uint64_t>(e.error.value()) + 1);
    w_.count(c, e.error);
    w_.counts.nested += e.held != nullptr && e.held->within != nullptr;
    w_.checks.on_done(c, e, std::max(clock_.when_shows(c.due), resumed_at_));
    app_->on_done(c, e);
}

/// A wait for a loss must end when the last known validity ends.
void client::note_validity()
{
    for (call& c : calls_) {
        if (c.what == core::operation::kind::wait_lost && c.lease->valid_until() != instant{}) {
            c.due = c.lease->valid_until();
        }
    }
    app_->look_at_leases();
}

/// An acquire that waited longer must get the lock first.
void client::check_order(const call& had) const
{
    for (const call& c : calls_) {
        const bool is_passed_over = c.what == core::operation::kind::acquire && c.may_wait &&
                                    !c.owned && !c.cancelled && c.tokens.empty() &&
                                    c.serial < had.serial && c.resource == had.resource;
        if (is_passed_over && had.may_wait && !had.owned) {
            w_.checks.fail("c" + std::to_string(index_) + ": operation " +
                           std::to_string(had.serial) + " has " + had.resource + " before " +
                           std::to_string(c.serial) + ", which waited in front of it");
        }
    }
}

/// Checks that the client reports losses before the result that follows.
void client::check_losses_are_told()
{
    for (const call& c : calls_) {
        const bool waits = c.what == core::operation::kind::wait_lost &&
                           (c.op->renewal != nullptr || c.op->error == errc::lost);
        if (waits && c.due <= local_now()) {
            w_.checks.fail("c" + std::to_string(index_) +
                           ": something is told before the loss of " + c.resource);
        }
    }
}

/// Notes the tokens of attempts that are about to be sent. The checker finds refusals by them.
void client::note_tokens()
{
    for (call& c : calls_) {
        if (c.what == core::operation::kind::acquire && c.op->subject != nullptr &&
            c.op->attempts_made > 0 && c.op->subject->within == nullptr &&
            (c.tokens.empty() || c.op->subject->token.view() != c.tokens.back())) {
            c.tokens.emplace_back(c.op->subject->token.view());
            c.attempted = w_.now();
            w_.checks.on_attempt(c);
        }
    }
}

/// Notes acquires that take a further hold, if they may have to extend the lock.
void client::note_holds()
{
    for (call& c : calls_) {
        if (!c.owned || c.op->subject == nullptr) {
            continue;
        }
        const core::lease* const lock = c.op->subject->within;
        if (lock == nullptr) {
            c.token.clear();
        } else if (lock->token.view() != c.token) {
            c.token = lock->token.view();
            c.whole = joined(lock->resources());
            c.had_by = w_.checks.holders(c.whole, c.token, w_.now());
            c.believed_until = true_time(lock->valid_until());
            w_.checks.allow_ttl(c.token, c.ttl);
        }
    }
}

bool client::is_held_besides(const core::lease& l) const
{
    return app_->holds_besides(l) || std::any_of(calls_.begin(), calls_.end(), [&l](const call& c) {
               const core::lease* const its = c.owned ? c.op->subject : nullptr;
               return its != nullptr && its->within == &l.root() && !its->is_released;
           });
}

void client::flush()
{
    note_tokens();
    note_holds();
    if (closing_ && (core_->network().is_quiet() || local_now() >= closing_->by)) {
        if (core_->network().is_quiet()) {
            w_.checks.nothing_left_of(index_, closing_->began);
        }
        break_off(closing_->away);
        return;
    }
    close_given_up();
    const core::node_mask wanted = core_->network().take_to_connect();
    each(wanted, [this](unsigned n) {
        connections_[n] = {};
        connections_[n].of = &w_.net.dial(index_, generation_, n);
        connections_[n].greeted = w_.now();
    });
    const core::node_mask written = core_->network().take_written();
    each(written, [this](unsigned n) { write(n); });
    arm_timer();
}

void client::write(unsigned node)
{
    connection& c = connections_[node];
    if (c.of == nullptr || c.writing || !core_->network().has_output(node)) {
        return;
    }
    std::string bytes;
    bytes.swap(core_->network().take_output(node));
    c.writing = true;
    nanos takes = random_.between(1us, 50us);
    if (w_.faults.happens(fault::slow_write)) {
        takes = random_.waiting(30ms);
        w_.checks.upset(index_, node, w_.now() + takes);
    }
    w_.net.send_up(*c.of, bytes);
    w_.schedule(takes, event_kind::written, index_, c.of->id);
}

void client::close_given_up()
{
    const core::node_mask given_up = core_->network().take_to_close();
    each(given_up, [this](unsigned n) {
        if (link* l = std::exchange(connections_[n].of, nullptr)) {
            w_.say("c", index_, " n", n, ": gives the connection up");
            w_.checks.on_heard(index_, n);
            w_.checks.on_given_up(index_, n);
            w_.net.close_by_client(*l);
            w_.checks.upset(index_, n, w_.now());
        }
        connections_[n] = {};
    });
}

void client::arm_timer()
{
    instant next = core_->next_deadline();
    if (closing_) {
        next = std::min(next, closing_->by);
    }
    if (next >= armed_for_) {
        return;
    }
    armed_for_ = next;
    const instant when = std::max(clock_.when_shows(next), w_.now());
    const nanos lag = random_.between(0us, 200us);
    w_.schedule(when - w_.now() + lag, event_kind::timer, index_, generation_, ++timer_);
}

/// Number of acquires in the wait queue of one resource, or in all queues.
std::size_t client::in_lines(std::string_view resource) const
{
    return static_cast<std::size_t>(std::count_if(calls_.begin(), calls_.end(), [&](const call& c) {
        return c.op->queue != nullptr && (resource.empty() || c.resource == resource);
    }));
}

bool client::has_room_for(core::operation::kind what) const
{
    using kind = core::operation::kind;
    const auto counts = [&](const call& c) {
        if (what == kind::extend) {
            return c.what == kind::extend;
        }
        return (c.what == kind::acquire && c.op->queue == nullptr) || c.what == kind::adopt ||
               c.what == kind::inspect;
    };
    const auto busy = static_cast<std::size_t>(std::count_if(calls_.begin(), calls_.end(), counts));
    const bool has = core_->operations().has_room_for(what);
    if (has != (busy < settings_->max_in_flight)) {
        w_.checks.condemn("c" + std::to_string(index_) + ": has " + (has ? "room" : "no room") +
                          " for one more, with " + std::to_string(busy) + " in flight");
    }
    w_.counts.without_room += has ? 0 : 1;
    return has;
}

void client::check_bounds() const
{
    const stats s = core_->snapshot();
    const std::size_t nodes = connections_.size();
    const auto most = [this](const char* what, std::size_t is, std::size_t may_be) {
        if (is > may_be) {
            w_.checks.condemn("c" + std::to_string(index_) + ": " + std::to_string(is) + ' ' +
                              what + ", and no more than " + std::to_string(may_be) + " may be");
        }
    };
    most("operations", s.in_flight, calls_.size());
    most("pending releases", s.pending_releases, nodes * settings_->max_pending_releases);
    // A batch of commands may exceed the limit at its end. At most one command of a batch is a
    // script. A pending release to a node without unanswered commands, and a handshake with its
    // scripts and waiting commands, may exceed the limit too.
    const std::size_t beyond = 2 * longest_command(w_.planned());
    for (unsigned n = 0; n < nodes; ++n) {
        const bool may_greet = w_.now() < connections_[n].greeted + until_greeted;
        const std::string what = "bytes for n" + std::to_string(n);
        most(what.c_str(), core_->network().buffered_bytes(n),
             settings_->max_buffered_bytes + beyond + (may_greet ? longest_greeting : 0));
    }
    // Each further hold has its own record. Its lock may have no other user left.
    const auto of_holds =
        static_cast<std::size_t>(std::count_if(calls_.begin(), calls_.end(), [](const call& c) {
            return c.op->subject != nullptr && c.op->subject->within != nullptr;
        }));
    most(
        "leases", s.leases,
        s.in_flight + of_holds + app_->held() + app_->nested() + s.unanswered + s.pending_releases);
}

// Operations.

template <class Begin>
call& client::start(core::operation::kind what, unsigned task, const std::string& resource,
                    nanos deadline, Begin begin)
{
    call& c = calls_.emplace_back();
    c.what = what;
    c.serial = ++serials_;
    c.client = index_;
    c.task = task;
    c.resource = resource;
    c.begun = w_.now();
    c.deadline = deadline;
    c.due = local_now() + deadline + settings_->node_timeout;
    static constexpr const char* names[] = {"acquire", "adopt",   "extend",
                                            "release", "inspect", "wait_lost"};
    w_.say("c", index_, " task ", task, ": operation ", c.serial, ": ",
           names[static_cast<unsigned>(what)], " ", resource);
    c.op = &begin();
    c.op->user = &c;
    want_turn();
    return c;
}

call& client::acquire(unsigned task, const std::string& resource, const acquire_options& o)
{
    const auto names = std::make_shared<const std::vector<std::string>>(parts_of(resource));
    const base::settings& s = *settings_;
    const bool is_full =
        in_lines() >= s.max_waiters || in_lines(resource) >= s.max_waiters_per_resource;
    call& c =
        start(core::operation::kind::acquire, task, resource, o.timeout, [&]() -> core::operation& {
            return names->size() > 1 ? core_->operations().acquire(local_now(), names, o)
                                     : core_->operations().acquire(local_now(), resource, o);
        });
    c.most_attempts = o.max_attempts;
    c.ttl = o.ttl;
    c.min_validity = o.min_validity;
    c.owned = o.reentrant_owner != nullptr;
    c.may_wait = names->size() == 1 && o.max_attempts > 1 && o.timeout > 0s;
    for (const std::string& name : *names) {
        w_.checks.allow_ttl(index_, name, o.ttl);
    }
    c.is_too_many = is_full && c.may_wait;
    if (c.op->queue != nullptr &&
        (in_lines() > s.max_waiters || in_lines(resource) > s.max_waiters_per_resource)) {
        w_.checks.condemn("c" + std::to_string(index_) + ": stands in a line that was full");
    }
    return c;
}

call& client::adopt(unsigned task, const std::string& resource, const base::owner_token& owner,
                    milliseconds ttl)
{
    w_.checks.allow(owner.view(), index_);
    w_.checks.allow_ttl(owner.view(), ttl);
    const auto names = std::make_shared<const std::vector<std::string>>(parts_of(resource));
    call& c = start(core::operation::kind::adopt, task, resource, {}, [&]() -> core::operation& {
        return names->size() > 1
                   ? core_->operations().adopt(local_now(), names, owner, ttl, nullptr)
                   : core_->operations().adopt(local_now(), resource, owner, ttl, nullptr);
    });
    c.token = owner.view();
    c.had_by = w_.checks.holders(resource, c.token, w_.now());
    return c;
}

call& client::extend(unsigned task, core::lease& l, milliseconds ttl, instant believed_until)
{
    w_.checks.allow_ttl(l.token.view(), ttl);
    call& c = start(core::operation::kind::extend, task, joined(l.root().resources()), {},
                    [&]() -> core::operation& {
                        return core_->operations().extend(local_now(), l, ttl, nullptr);
                    });
    c.lease = &l;
    c.token = l.token.view();
    c.had_by = w_.checks.holders(c.resource, c.token, w_.now());
    c.believed_until = believed_until;
    return c;
}

call& client::release(unsigned task, core::lease& l, instant believed_until)
{
    const std::string token(l.token.view());
    const std::string resource = joined(l.root().resources());
    const bool is_nested = is_held_besides(l);
    call& c = start(core::operation::kind::release, task, resource, {}, [&]() -> core::operation& {
        return core_->operations().release(local_now(), l, nullptr);
    });
    c.token = token;
    c.believed_until = believed_until;
    c.is_nested = is_nested;
    w_.checks.on_release(c);
    return c;
}

call& client::inspect(unsigned task, const std::string& resource)
{
    return start(core::operation::kind::inspect, task, resource, {}, [&]() -> core::operation& {
        return core_->operations().inspect(local_now(), resource, {});
    });
}

call& client::wait_lost(unsigned task, core::lease& l, bool is_kept)
{
    call& c =
        start(core::operation::kind::wait_lost, task, joined(l.resources()), {},
              [&]() -> core::operation& { return core_->operations().wait_lost(local_now(), l); });
    c.lease = &l.root();
    c.token = l.token.view();
    c.ttl = c.lease->ttl;
    c.is_kept = is_kept;
    note_validity();
    return c;
}

void client::drop(core::lease& l)
{
    if (!is_held_besides(l)) {
        w_.checks.on_given_back(index_, joined(l.root().resources()), l.token.view(), w_.now());
    }
    core_->operations().drop(local_now(), l);
    want_turn();
}

void client::let_go(core::lease& l)
{
    core_->operations().detach(local_now(), l);
    want_turn();
}

}  // namespace redlock::sim
