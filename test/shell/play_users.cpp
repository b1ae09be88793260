#include "shell/play.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

// What the users of a play do, and what they are told.
namespace redlock::test {

using namespace std::chrono_literals;
using asio::cancellation_type;

namespace {

/// So long that no key goes by itself before it is looked for.
constexpr auto ttl = 30s;

constexpr auto started_only = cancellation_type::terminal | cancellation_type::partial;

}  // namespace

/// A lock in a coroutine, where the checks find it.
class play::shown {
public:
    shown(play& p, const lock& l) : play_(p), lock_(&l)
    {
        play_.shown_.push_back(lock_);
        play_.check_exclusion();
    }
    shown(const shown&) = delete;
    shown& operator=(const shown&) = delete;
    ~shown() { std::erase(play_.shown_, lock_); }

private:
    play& play_;
    const lock* lock_;
};

// ---- what they do

void play::act()
{
    seat& s = any_seat();
    switch (clock_.below(16)) {
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
        default: on_client(s, [this, &s] { begin_any(s); }); return;
    }
}

bool play::may_touch(const seat& s) const
{
    return !s.strand || s.strand->running_in_this_thread();
}

/// In place of the one that is there, which ends.
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

/// All that is pending ends now.
void play::ends(life& l)
{
    l.asked_to_end = true;
    for (record* r : open_) {
        if (&r->of == &l && r->open() && r->what != verb::script) {
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
        case 2:
        case 3: n.hangs_up = 1 + clock_.below(20); return;
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
        if (at_once && r.what != verb::script) {
            r.due = std::min(r.due.value_or(clock_.now()), clock_.now());
            if (r.what == verb::close || r.is_first_run) {
                ends(r.of);
            }
        }
        r.signal->emit(type);
    });
}

lock play::take_held(const seat* of)
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
    lock l = std::move(held_[which].l);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    return l;
}

/// Drops a lock, moves it, or hands it over.
void play::give_one_up()
{
    seat& s = any_seat();
    on_client(s, [this, &s] {
        lock l = take_held(&s);
        if (!l) {
            return;
        }
        clock_.note("given up");
        switch (clock_.below(3)) {
            case 0: return;
            case 1: {
                std::string name(l.resource());
                handed_over_.push_back({std::move(name), std::move(l).hand_over()});
                return;
            }
            case 2: {
                lock moved(std::move(l));
                held_.push_back({std::move(moved), &s});
                return;
            }
        }
    });
}

acquire_options play::any_options()
{
    return {.ttl = ttl,
            .deadline = std::chrono::milliseconds{clock_.below(3) * clock_.below(200)},
            .attempts = clock_.one_in(3) ? 1 + clock_.below(3) : unlimited};
}

std::string_view play::any_name()
{
    return clock_.one_in(50) ? "" : names[clock_.below(names.size())];
}

record& play::new_record(seat& s, verb what)
{
    return records_.emplace_back(static_cast<unsigned>(records_.size()), what, *s.now);
}

void play::mark_begun(record& r)
{
    clock_.note("begin", r.number, static_cast<std::uint64_t>(r.what));
    r.begun = true;
    open_.push_back(&r);
    if (r.of.asked_to_end && r.what != verb::close && r.what != verb::script) {
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
    record& r = new_record(s, what);
    client& c = *s.locks;
    const base::nanos once = s.config.node_timeout;
    if (what != verb::run) {
        r.due = clock_.now() + (what == verb::close ? s.config.close_timeout : once);
    }
    switch (what) {
        case verb::run: launch(s, r, c.async_run(asio::deferred)); return;
        case verb::acquire: {
            const acquire_options o = any_options();
            *r.due += o.deadline;
            launch(s, r, c.async_acquire(any_name(), o, asio::deferred));
            return;
        }
        case verb::adopt: {
            std::string_view name = any_name();
            std::string_view owner = "of nobody";
            if (adopted_ < handed_over_.size() && !clock_.one_in(8)) {
                // Each once: by two it would be held twice.
                name = handed_over_[adopted_].name;
                owner = handed_over_[adopted_].owner;
                ++adopted_;
            }
            launch(s, r, c.async_adopt(name, owner, ttl, asio::deferred));
            return;
        }
        case verb::extend: {
            lock l = take_held(clock_.one_in(8) ? &any_seat() : &s);
            // Read as it begins, so it must begin now.
            initiate(s, r, c.async_extend(l, ttl, asio::deferred), clock_.below(3));
            if (l) {
                held_.push_back({std::move(l), &s});
            }
            return;
        }
        case verb::release: launch(s, r, c.async_release(take_held(&s), asio::deferred)); return;
        case verb::inspect: launch(s, r, c.async_inspect(any_name(), asio::deferred)); return;
        case verb::close: launch(s, r, c.async_close(asio::deferred)); return;
        case verb::script: return;
    }
}

/// Now, or some time later.
template <class Operation>
void play::launch(seat& s, record& r, Operation op)
{
    const unsigned token = clock_.below(3);
    if (clock_.one_in(8)) {
        asio::post(s.executor, [this, &s, &r, token, op = std::move(op)]() mutable {
            initiate(s, r, std::move(op), token);
        });
    } else {
        initiate(s, r, std::move(op), token);
    }
}

template <class Operation>
void play::initiate(seat& s, record& r, Operation op, unsigned token)
{
    mark_begun(r);
    r.in_place = [this, &s] { return main_->running() && may_touch(s); };
    r.initiating = true;
    switch (token) {
        case 0: std::move(op)(probe(*this, r)); break;
        case 1: initiate_bound(s, r, std::move(op)); break;
        default: {
            sim_context& c = clock_.one_in(2) ? *main_ : *other_;
            r.in_other_context = &c == &*other_;
            r.in_place = [&c] { return c.running(); };
            std::move(op)(bound_probe<sim_executor>(*this, r, c.get_executor()));
        }
    }
    r.initiating = false;
}

/// With an executor whose type says nothing.
template <class Operation>
void play::initiate_bound(seat& s, record& r, Operation op)
{
    asio::any_io_executor ex = s.executor;
    switch (clock_.below(3)) {
        case 0: break;
        case 1: {
            const auto own = asio::make_strand(main_->get_executor());
            r.in_place = [own] { return own.running_in_this_thread(); };
            ex = own;
            break;
        }
        default:
            r.in_other_context = true;
            r.in_place = [this] { return other_->running(); };
            ex = other_->get_executor();
    }
    std::move(op)(bound_probe<asio::any_io_executor>(*this, r, std::move(ex)));
}

void play::begin_script(seat& s)
{
    if (!s.locks) {
        return;
    }
    record& r = new_record(s, verb::script);
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
            const auto [ec] = co_await s.locks->async_extend(taken, ttl, token);
            told(verb::extend, ec);
        }
        if (clock_.one_in(2) && s.locks) {
            l = s.now;
            const auto [ec, found] = co_await s.locks->async_release(std::move(taken), token);
            told(verb::release, ec);
        }
    }
}

// ---- what they are told

void play::on_called(record& r, error_code ec, lock l)
{
    clock_.note("called", r.number, static_cast<std::uint64_t>(ec.value()));
    check_call(r);
    check_error(r, r.of, r.what, ec, static_cast<bool>(l));
    if (l) {
        ++verdict_.locks;
        held_.push_back({std::move(l), &seats_[r.of.seat]});
        check_exclusion();
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
    if (r.blocks != 0 && r.what != verb::script) {
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
    const bool says_end = ec == errc::closed || (what == verb::run && !ec);
    if (says_end && !l.asked_to_end) {
        clock_.fail("an operation ended with its client, which did not end");
    }
    if (ec == asio::error::already_started && (what != verb::run || r.is_first_run)) {
        clock_.fail("a first run was told that it is not the first");
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

/// As user code does within a handler: anything, or it throws.
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
