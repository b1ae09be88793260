#include "client_sim/play.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

// Actions of the users of a play, and the results that they get.
namespace redlock::test {

using namespace std::chrono_literals;
using asio::cancellation_type;

namespace {

/// Long enough that no key expires before the check.
constexpr auto long_ttl = 30s;

/// For locks that expire or are renewed within a play.
constexpr std::array short_ttls{200ms, 300ms, 800ms};

constexpr auto started_only = cancellation_type::terminal | cancellation_type::partial;

}  // namespace

// Actions.

void play::act()
{
    seat& s = any_seat();
    switch (clock_.below(22)) {
        case 0: upset_a_node(); return;
        case 1: nodes_[clock_.below(static_cast<std::uint32_t>(nodes_.size()))].heal(); return;
        case 2:
        case 3: cancel_one(); return;
        case 4: give_one_up(); return;
        case 5: on_client(s, [this, &s] { begin_script(s); }); return;
        case 6:
            if (!tidy_) {
                on_client(s, [this, &s] { end_client(s); });
            }
            return;
        case 7:
            if (!tidy_) {
                on_client(s, [this, &s] { make_client(s); });
            }
            return;
        case 8:
            on_client(s, [&s] {
                if (s.locks) {
                    client moved(std::move(*s.locks));
                    s.locks.emplace(std::move(moved));
                }
            });
            return;
        case 9:
        case 10: on_client(s, [this, &s] { begin_scope(s); }); return;
        case 11:
            if (!scopes_.empty()) {
                end_a_scope(scopes_[clock_.below(static_cast<unsigned>(scopes_.size()))].of);
            }
            return;
        case 12:
        case 13: on_client(s, [this, &s] { begin_wait(s); }); return;
        default: on_client(s, [this, &s] { begin_any(s); }); return;
    }
}

bool play::may_touch(const seat& s) const
{
    return !s.strand || s.strand->running_in_this_thread();
}

/// Replaces the present client, which ends.
void play::make_client(seat& s)
{
    if (over_) {
        return;
    }
    if (s.now != nullptr) {
        ends(*s.now);
    }
    client fresh(s.executor, s.config);
    if (s.locks && clock_.one_in(2)) {
        *s.locks = std::move(fresh);
    } else {
        s.locks.reset();
        s.locks.emplace(std::move(fresh));
    }
    s.now = &lives_.emplace_back(&s == &seats_[1] ? 1 : 0);
    clock_.note("client", lives_.size());
    if (lives_.size() > seats_.size() && !clock_.one_in(4)) {
        begin(s, verb::run);
    }
}

void play::end_client(seat& s)
{
    clock_.note("client ends");
    ends(*s.now);
    s.locks.reset();
}

/// All pending operations of this client must end now.
void play::ends(life& l)
{
    l.asked_to_end = true;
    for (record* r : open_) {
        const bool is_composed = r->what == verb::script || r->what == verb::scope;
        if (&r->of == &l && r->open() && !is_composed) {
            r->due = std::min(r->due.value_or(clock_.now()), clock_.now());
        }
    }
}

void play::upset_a_node()
{
    sim_node& n = nodes_[clock_.below(static_cast<std::uint32_t>(nodes_.size()))];
    clock_.note("upset");
    n.latency = std::chrono::milliseconds{1 + clock_.below(2) * clock_.below(70)};
    n.dial = static_cast<sim_node::dialling>(clock_.below(3));
    switch (clock_.below(8)) {
        case 0: n.freeze(); return;
        case 7: n.blocks = n.hangs_up = 1 + clock_.below(8); return;
        case 1:
            n.talks_nonsense = 1 + clock_.below(8);
            n.greets_well = !clock_.one_in(3);
            n.dial = sim_node::dialling::at_once;
            return;
        case 2: n.hangs_up = 1 + clock_.below(20); return;
        case 3: n.fails_writes = 1 + clock_.below(20); return;
        case 4: n.master.refusals["SET"] = "OOM command not allowed"; return;
        case 5: n.master.refusals["EVALSHA"] = "LOADING Redis is loading"; return;
        case 6: n.master.flush_scripts(); return;
        default: return;
    }
}

void play::cancel_one()
{
    if (open_.empty()) {
        return;
    }
    record& r = *open_[clock_.below(static_cast<std::uint32_t>(open_.size()))];
    if (tidy_ && r.what == verb::run) {
        return;
    }
    const auto type = std::array{cancellation_type::terminal, cancellation_type::partial,
                                 cancellation_type::total, cancellation_type::all}[clock_.below(4)];
    on_client(seats_[r.of.seat], [this, &r, type] {
        const bool can_be = r.what != verb::script || r.runs;
        if (!can_be || !r.open() || !r.signal->slot().has_handler()) {
            return;
        }
        clock_.note("cancel", r.number, static_cast<std::uint64_t>(type));
        r.emitted = r.emitted | type;
        const bool at_once = (type & started_only) != cancellation_type::none;
        if (at_once && r.what != verb::script && r.what != verb::scope) {
            r.due = std::min(r.due.value_or(clock_.now()), clock_.now());
            if (r.what == verb::close || r.is_first_run) {
                ends(r.of);
            }
        }
        r.signal->emit(type);
    });
}

play::held play::take_held(const seat* of)
{
    std::vector<std::size_t> theirs;
    for (std::size_t i = 0; i < held_.size(); ++i) {
        if (held_[i].from == of) {
            theirs.push_back(i);
        }
    }
    if (theirs.empty()) {
        return {};
    }
    const std::size_t which = theirs[clock_.below(static_cast<std::uint32_t>(theirs.size()))];
    held h = std::move(held_[which]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    return h;
}

/// Drops a lock, moves it or detaches it.
void play::give_one_up()
{
    seat& s = any_seat();
    on_client(s, [this, &s] {
        held h = take_held(&s);
        if (!h.l) {
            return;
        }
        clock_.note("given up");
        switch (clock_.below(3)) {
            case 0: return;
            case 1: hand_over(std::move(h.l)); return;
            case 2: held_.push_back(std::move(h)); return;
        }
    });
}

/// Detaches a lock once, though it may have had other holds.
void play::hand_over(lock l)
{
    const auto all = l.resources();
    handed_over h{{all.begin(), all.end()}, {}};
    h.owner = std::move(l).detach();
    if (!h.owner.empty()) {
        const auto owns = [&h](const held& other) {
            return other.l.owner_token() == h.owner && other.l.owns();
        };
        if (std::ranges::any_of(held_, owns)) {
            clock_.fail("what was handed over is owned yet");
        }
        handed_over_.push_back(std::move(h));
    }
}

std::chrono::milliseconds play::any_ttl()
{
    return short_lived_ ? short_ttls[clock_.below(short_ttls.size())] : long_ttl;
}

acquire_options play::any_options()
{
    acquire_options o{.ttl = any_ttl(),
                      .timeout = std::chrono::milliseconds{clock_.below(3) * clock_.below(200)},
                      .max_attempts = clock_.one_in(3) ? 1 + clock_.below(3) : unlimited};
    if (clock_.one_in(2)) {
        o.reentrant_owner = &me_;
    }
    if (clock_.one_in(3)) {
        o.keep_alive.emplace();
        if (clock_.one_in(3)) {
            o.keep_alive->max_hold = o.ttl + std::chrono::milliseconds{clock_.below(400)};
        }
        if (clock_.one_in(4)) {
            o.keep_alive->max_renewals = clock_.below(3);
        }
    }
    return o;
}

std::string_view play::any_name()
{
    return clock_.one_in(50) ? "" : names[clock_.below(names.size())];
}

std::vector<std::string> play::any_names()
{
    std::vector<std::string> all;
    for (const std::string_view name : names) {
        all.insert(all.begin() + clock_.below(static_cast<std::uint32_t>(all.size() + 1)),
                   std::string(name));
    }
    all.resize(clock_.one_in(8) ? all.size() : 1 + clock_.below(2));
    if (clock_.one_in(50)) {
        all.push_back(clock_.one_in(2) ? all.front() : "");  // neither is allowed
    }
    return all;
}

record& play::new_record(life& of, verb what)
{
    return records_.emplace_back(static_cast<unsigned>(records_.size()), what, of);
}

void play::mark_begun(record& r)
{
    clock_.note("begin", r.number, static_cast<std::uint64_t>(r.what));
    r.begun = true;
    open_.push_back(&r);
    const bool is_composed = r.what == verb::script || r.what == verb::scope;
    if (r.of.asked_to_end && r.what != verb::close && !is_composed) {
        r.due = clock_.now();
    }
    if (r.what == verb::run) {
        r.is_first_run = ++r.of.runs == 1;
    }
    if (r.what == verb::close) {
        r.of.asked_to_end = true;
    }
}

void play::begin_any(seat& s)
{
    constexpr std::array often{verb::acquire, verb::acquire, verb::acquire, verb::acquire,
                               verb::adopt,   verb::extend,  verb::release, verb::release,
                               verb::release, verb::inspect, verb::run};
    const bool close = !tidy_ && clock_.one_in(30);
    begin(s, close ? verb::close : often[clock_.below(often.size())]);
}

void play::begin(seat& s, verb what)
{
    if (!s.locks) {
        return;
    }
    record& r = new_record(*s.now, what);
    client& c = *s.locks;
    const base::nanos once = s.config.node_timeout;
    if (what != verb::run) {
        r.due = clock_.now() + (what == verb::close ? s.config.close_timeout : once);
    }
    switch (what) {
        case verb::run: launch(s, r, c.async_run(asio::deferred)); return;
        case verb::acquire: begin_acquire(s, r); return;
        case verb::adopt: begin_adopt(s, r); return;
        case verb::extend: {
            held h = take_held(clock_.one_in(8) ? &any_seat() : &s);
            // The lock is read at the beginning, so the operation must begin now.
            initiate(s, r, c.async_extend(h.l, any_ttl(), asio::deferred), clock_.below(3));
            if (h.l) {
                held_.push_back(std::move(h));
            }
            return;
        }
        case verb::release: launch(s, r, c.async_release(take_held(&s).l, asio::deferred)); return;
        case verb::inspect: launch(s, r, c.async_inspect(any_name(), asio::deferred)); return;
        case verb::close: launch(s, r, c.async_close(asio::deferred)); return;
        case verb::wait_lost:
        case verb::script:
        case verb::scope: return;
    }
}

void play::begin_acquire(seat& s, record& r)
{
    const acquire_options o = any_options();
    *r.due += o.timeout;
    const auto known = static_cast<std::uint32_t>(held_.size());
    if (o.reentrant_owner && known > 0 && !clock_.one_in(8)) {
        // The owner may already hold it.
        const auto all = held_[clock_.below(known)].l.resources();
        launch(s, r,
               s.locks->async_acquire(std::vector<std::string>(all.begin(), all.end()), o,
                                      asio::deferred));
    } else if (clock_.one_in(3)) {
        launch(s, r, s.locks->async_acquire(any_names(), o, asio::deferred));
    } else {
        launch(s, r, s.locks->async_acquire(any_name(), o, asio::deferred));
    }
}

void play::begin_adopt(seat& s, record& r)
{
    client& c = *s.locks;
    if (adopted_ == handed_over_.size() || clock_.one_in(8)) {
        launch(s, r, c.async_adopt(any_name(), "of nobody", any_ttl(), asio::deferred));
        return;
    }
    // Each once. Two adopts would give it two holders.
    const handed_over& h = handed_over_[adopted_++];
    if (h.names.size() == 1 && clock_.one_in(2)) {
        launch(s, r, c.async_adopt(h.names.front(), h.owner, any_ttl(), asio::deferred));
    } else {
        launch(s, r, c.async_adopt(h.names, h.owner, any_ttl(), asio::deferred));
    }
}

/// Only for a lock that exists, since an empty one knows no client.
void play::begin_wait(seat& s)
{
    held h = take_held(&s);
    if (!h.l) {
        return;
    }
    record& r = new_record(*h.of, verb::wait_lost);
    r.lock_number = h.number;
    initiate(s, r, h.l.async_wait_lost(asio::deferred), clock_.below(3));
    held_.push_back(std::move(h));
}

void play::begin_script(seat& s)
{
    if (!s.locks) {
        return;
    }
    record& r = new_record(*s.now, verb::script);
    mark_begun(r);
    r.in_place = [this, &s] { return main_->running() && may_touch(s); };
    asio::co_spawn(s.executor, script(s, r),
                   bound_probe<asio::any_io_executor>(*this, r, s.executor));
}

asio::awaitable<void> play::script(seat& s, record& r)
{
    constexpr auto token = asio::as_tuple(asio::use_awaitable);
    for (unsigned rounds = 1 + clock_.below(3); rounds > 0 && s.locks; --rounds) {
        r.runs = true;
        const life* l = s.now;
        const auto told = [this, &r, &l](verb what, error_code ec, bool has_lock = false) {
            if (r.in_place && !r.in_place()) {
                clock_.fail("a coroutine goes on where it does not belong");
            }
            check_error(r, *l, what, ec, has_lock);
        };
        auto [failed, taken] = co_await s.locks->async_acquire(any_name(), any_options(), token);
        told(verb::acquire, failed, static_cast<bool>(taken));
        if (failed) {
            continue;
        }
        ++verdict_.locks;
        const shown where(*this, taken);
        if (clock_.one_in(2) && s.locks) {
            l = s.now;
            const auto [ec, found] = co_await s.locks->async_inspect(taken.resource(), token);
            told(verb::inspect, ec);
        }
        if (clock_.one_in(2) && s.locks) {
            l = s.now;
            const auto [ec] = co_await s.locks->async_extend(taken, any_ttl(), token);
            told(verb::extend, ec);
        }
        if (clock_.one_in(2) && s.locks) {
            l = s.now;
            const auto [ec, found] = co_await s.locks->async_release(std::move(taken), token);
            told(verb::release, ec);
        }
    }
}

// Results.

void play::on_called(record& r, error_code ec, lock l)
{
    clock_.note("called", r.number, static_cast<std::uint64_t>(ec.value()));
    check_call(r);
    check_error(r, r.of, r.what, ec, static_cast<bool>(l));
    verdict_.nested += r.is_nested;
    if (l) {
        ++verdict_.locks;
        held_.push_back({std::move(l), &seats_[r.of.seat], &r.of, ++locks_had_});
        check_exclusion();
        if (short_lived_ || clock_.one_in(2)) {
            seat& s = seats_[r.of.seat];
            on_client(s, [this, &s] { begin_wait(s); });
        }
    }
    if (r.is_first_run) {
        ends(r.of);
    }
    react(r);
}

void play::check_call(record& r)
{
    ++verdict_.handlers;
    if (++r.called > 1) {
        clock_.fail("a handler was called twice");
    }
    if (r.initiating) {
        clock_.fail("a handler was called by the initiating function");
    }
    if (r.in_place && !r.in_place()) {
        clock_.fail("a handler was called where it does not belong");
    }
    if (r.blocks != 0 && r.what != verb::script && r.what != verb::scope) {
        clock_.fail("a handler was called before its memory was given back");
    }
    if (r.signal->slot().has_handler() && r.what != verb::script) {
        clock_.fail("a handler was called before its cancellation slot was cleared");
    }
}

void play::check_error(const record& r, const life& l, verb what, error_code ec, bool has_lock)
{
    const bool gives = what == verb::acquire || what == verb::adopt;
    if (gives && has_lock == static_cast<bool>(ec)) {
        clock_.fail("a lock came with an error, or none without one");
    }
    if (ec == asio::error::operation_aborted) {
        ++verdict_.aborted;
        if (r.emitted == cancellation_type::none) {
            clock_.fail("an operation was aborted that nobody cancelled");
        }
    }
    if (ec == errc::closed) {
        ++verdict_.closed;
    }
    if (what == verb::wait_lost) {
        check_loss(r, ec);
    }
    const bool says_end = ec == errc::closed || (what == verb::run && !ec);
    if (says_end && !l.asked_to_end) {
        clock_.fail("an operation ended with its client, which did not end");
    }
    if (ec == asio::error::already_started && (what != verb::run || r.is_first_run)) {
        clock_.fail("a first run was told that it is not the first");
    }
}

/// Checks the result of a wait for the loss of a lock.
void play::check_loss(const record& r, error_code ec)
{
    const auto there = std::ranges::find(held_, r.lock_number, &held::number);
    const bool is_held = there != held_.end() && there->l;
    const auto is_its = [&](const handed_over& h) { return h.owner == there->l.owner_token(); };
    verdict_.losses += ec == errc::lost;
    if (!ec) {
        clock_.fail("a wait for a loss ended for no reason");
    }
    if (ec == errc::lost && is_held && there->l.owns()) {
        clock_.fail("a lock is owned that was lost");
    }
    if (ec == errc::not_held && is_held && std::ranges::none_of(handed_over_, is_its)) {
        clock_.fail("what is held is said not to be");
    }
}

void play::on_thrown(record& r, std::exception_ptr e)
{
    clock_.note("script ended", r.number, e ? 1 : 0);
    check_call(r);
    try {
        if (e) {
            std::rethrow_exception(e);
        }
    } catch (const boost::system::system_error& cancelled) {
        check_error(r, r.of, verb::script, cancelled.code(), false);
    }
}

void play::on_destroyed(record& r) noexcept
{
    if (!r.begun) {
        return;
    }
    ++r.destroyed;
    ++verdict_.abandoned;
    if (!may_abandon_) {
        clock_.fail("a handler was destroyed uncalled");
    }
}

/// Like user code in a handler: may do anything, or throw.
void play::react(record& r)
{
    if (actions_left_ > 0 && clock_.one_in(3)) {
        --actions_left_;
        act();
    }
    if (clock_.one_in(12)) {
        ++verdict_.thrown;
        ++thrown_;
        throw thrown{r.number};
    }
}

}  // namespace redlock::test
