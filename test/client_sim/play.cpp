#include "client_sim/play.hpp"

#include "base/settings.hpp"

#include <algorithm>
#include <utility>

// The loop of a play, the checks of each step, and the end of a play.
namespace redlock::test {

using namespace std::chrono_literals;
using base::instant;

namespace {

habits any_habits(clockwork& c)
{
    habits h;
    h.any_order = !c.one_in(3);
    h.may_queue = c.one_in(2);
    h.keeps_exceptions = c.one_in(2);
    h.io_goes_first = c.one_in(2);
    return h;
}

redlock::config any_config(clockwork& c, const std::deque<sim_node>& nodes)
{
    redlock::config wanted;
    for (const sim_node& n : nodes) {
        const std::string scheme = n.identity == nullptr ? "redis" : "rediss";
        wanted.nodes.push_back(scheme + "://10.0.0." + std::to_string(wanted.nodes.size() + 1));
        if (n.identity != nullptr) {
            wanted.tls.ca_file = n.identity->ca_file();
        }
    }
    wanted.connect_timeout = 200ms;
    wanted.reconnect_backoff_max = 100ms;
    wanted.stall_timeout = 200ms;
    wanted.ping_interval = std::chrono::milliseconds{c.below(2) * 300};
    wanted.close_timeout = std::chrono::milliseconds{c.below(3) * 150};
    if (c.one_in(8)) {
        wanted.max_in_flight = 3;
    }
    return wanted;
}

}  // namespace

verdict& verdict::operator+=(const verdict& o)
{
    handlers += o.handlers;
    locks += o.locks;
    aborted += o.aborted;
    closed += o.closed;
    abandoned += o.abandoned;
    thrown += o.thrown;
    steps += o.steps;
    encrypted += o.encrypted;
    locks_encrypted += o.locks_encrypted;
    losses += o.losses;
    nested += o.nested;
    renewed += o.renewed;
    ends_told += o.ends_told;
    bodies += o.bodies;
    stopped += o.stopped;
    return *this;
}

std::ostream& operator<<(std::ostream& out, const verdict& v)
{
    return out << v.steps << " steps, " << v.handlers << " handlers called, " << v.abandoned
               << " abandoned, " << v.locks << " locks, " << v.aborted << " cancelled, " << v.closed
               << " closed, " << v.thrown << " exceptions, " << v.encrypted << " plays with TLS, "
               << v.locks_encrypted << " locks over it, " << v.losses << " losses waited for, "
               << v.nested << " further holds, " << v.renewed << " renewals, " << v.ends_told
               << " ends of keys told, " << v.bodies << " bodies, " << v.stopped
               << " of them stopped";
}

play::play(std::uint64_t seed, std::ostream* trace)
    : clock_(seed, trace),
      lags_(clock_.one_in(4)),
      short_lived_(clock_.one_in(3)),
      tidy_(clock_.one_in(3)),
      actions_left_(30 + clock_.below(120))
{
    verdict_.seed = seed;
    verdict_.tidy = tidy_;
    if (base::built_with_tls == base::tls_support::present && clock_.one_in(8)) {
        identity_.emplace();
    }
    const std::size_t count = 1 + clock_.below(5);
    std::size_t plain = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sim_node& n = nodes_.emplace_back(clock_);
        n.identity = identity_ && !clock_.one_in(3) ? &*identity_ : nullptr;
        plain += n.identity == nullptr ? 1U : 0U;
        model_master& m = n.master;
        m.run_id.front() = static_cast<char>('0' + i);
        m.has_delifeq = clock_.one_in(4);
        m.knows_hello = !clock_.one_in(8);
    }
    verdict_.encrypted = plain < count ? 1U : 0U;
    needs_tls_ = plain < count / 2 + 1;
    other_.emplace(clock_, 2, any_habits(clock_));
    main_.emplace(clock_, 1, any_habits(clock_));
    asio::make_service<engine::environment_service>(*main_,
                                                    std::make_shared<sim_world>(clock_, nodes_));
    for (seat& s : seats_) {
        s.how = static_cast<seat::kind>(clock_.below(3));
        s.config = any_config(clock_, nodes_);
        s.config.thread_safe = s.how == seat::kind::thread_safe;
        if (clock_.one_in(2)) {
            s.config.on_renewal = [this, &s](const renewal& news) { on_renewal(s, news); };
        }
        s.executor = main_->get_executor();
        if (s.how == seat::kind::on_strand) {
            s.strand.emplace(main_->get_executor());
            s.executor = *s.strand;
        }
    }
}

play::~play()
{
    end_contexts();
}

verdict play::run()
{
    for (seat& s : seats_) {
        make_client(s);
        if (tidy_ || !clock_.one_in(4)) {
            on_client(s, [this, &s] { begin(s, verb::run); });
        }
    }
    while (actions_left_ > 0 && !clock_.failed()) {
        if (clock_.one_in(12)) {
            --actions_left_;
            act();
            check_work();
        } else {
            step();
        }
    }
    over_ = true;
    if (tidy_) {
        end_tidily();
    } else {
        end_abruptly();
    }
    check_handlers();
    verdict_.locks_encrypted = needs_tls_ ? verdict_.locks : 0;
    for (const sim_node& n : nodes_) {
        verdict_.ends_told += n.ends_told;
    }
    verdict_.hash = clock_.hash();
    verdict_.failure = clock_.failure();
    return verdict_;
}

void play::step()
{
    ++verdict_.steps;
    if (lags_ && clock_.one_in(16)) {
        clock_.lag(clock_.some_time(40ms));
    }
    const bool main = main_->is_ready();
    const bool other = other_->is_ready();
    if (main || other) {
        step(!main || (other && clock_.one_in(2)) ? *other_ : *main_);
    } else if (clock_.has_events()) {
        check_due();
        clock_.advance();
    }
    check_work();
}

void play::step(sim_context& c)
{
    try {
        c.step();
    } catch (const thrown& t) {
        clock_.note("caught", t.by);
        ++caught_;
    }
}

void play::run_for(std::chrono::milliseconds time)
{
    bool over = false;
    clock_.at(time, [&over] { over = true; });
    while (!over && !clock_.failed()) {
        step();
    }
}

/// Runs until nothing is left to do.
void play::run_dry()
{
    constexpr unsigned too_many = 200'000;
    for (unsigned i = 0; i < too_many; ++i) {
        if (clock_.failed()) {
            return;
        }
        if (!main_->is_ready() && !other_->is_ready() && !clock_.has_events()) {
            if (main_->outstanding() + other_->outstanding() > 0) {
                clock_.fail("a context still counts work when nothing is left to do");
            }
            return;
        }
        step();
    }
    clock_.fail("the context does not run dry");
}

/// Called before time passes.
void play::check_due()
{
    const instant next = clock_.next_event();
    for (record* r : open_) {
        if (lags_ || !r->open()) {
            continue;
        }
        if (r->what == verb::wait_lost) {
            check_wait(*r, next);
        }
        if (r->due && *r->due < next) {
            clock_.note("overdue", r->number);
            clock_.fail("an operation did not end in time");
        }
    }
}

/// A renewal or an extend moves the end that a wait for a loss expects.
void play::check_wait(record& r, instant next)
{
    const auto there = std::ranges::find(held_, r.lock_number, &held::number);
    if (there == held_.end()) {
        r.known_end.reset();  // another hold renews it, or the task has given it up
    } else if (there->l.valid_until() != boot_clock::time_point{}) {
        r.known_end = instant{there->l.valid_until().time_since_epoch()};
    }
    if (r.known_end && *r.known_end < next) {
        clock_.note("loss overdue", r.number);
        clock_.fail("a loss was not told in time");
    }
}

/// A context with a pending operation must not run out of work.
void play::check_work()
{
    std::erase_if(open_, [](const record* r) { return !r->open(); });
    for (const record* r : open_) {
        const sim_context& c = r->in_other_context ? *other_ : *main_;
        if (c.outstanding() == 0) {
            clock_.note("without work", r->number);
            clock_.fail("a context ran out of work while an operation was pending");
        }
    }
}

/// At most one client owns a resource, and by one lock only, whatever the number of holds.
void play::check_exclusion()
{
    std::vector<std::pair<std::string_view, std::string_view>> believed;
    const auto add = [&](const lock& l) {
        if (l && instant{l.valid_until().time_since_epoch()} > clock_.now()) {
            for (const std::string& name : l.resources()) {
                believed.emplace_back(name, l.owner_token());
            }
        }
    };
    for (const held& h : held_) {
        add(h.l);
    }
    for (const lock* l : shown_) {
        add(*l);
    }
    std::ranges::sort(believed);
    const auto same_name = [](const auto& a, const auto& b) {
        return a.first == b.first && a.second != b.second;
    };
    if (std::ranges::adjacent_find(believed, same_name) != believed.end()) {
        clock_.fail("two locks of one resource are valid at once");
    }
}

/// Nothing is left on the nodes except detached locks.
void play::check_keys()
{
    for (const sim_node& n : nodes_) {
        for (const std::string_view name : names) {
            const std::string owner = n.master.value(clock_.now(), std::string(name));
            const bool given =
                std::ranges::find(handed_over_, owner, &handed_over::owner) != handed_over_.end();
            if (!owner.empty() && !given) {
                clock_.fail("a key was left behind");
            }
        }
    }
}

void play::check_handlers()
{
    for (const record& r : records_) {
        if (r.begun && r.called + r.destroyed != 1) {
            clock_.note("handler", r.number, r.called + r.destroyed);
            clock_.fail("a handler was not called or destroyed exactly once");
        }
        if (r.blocks != 0) {
            clock_.note("memory", r.number, r.blocks);
            clock_.fail("memory of a handler's allocator was not given back");
        }
    }
    if (thrown_ != caught_ && !may_abandon_) {
        clock_.fail("what a handler threw did not come out of its context");
    }
}

void play::heal()
{
    for (sim_node& n : nodes_) {
        n.heal();
    }
}

void play::end_tidily()
{
    heal();
    run_for(2s);
    while (!scopes_.empty()) {
        end_a_scope(scopes_.back().of);
    }
    while (!held_.empty() && !clock_.failed()) {
        seat& s = *held_.back().from;
        asio::post(s.executor, [l = std::move(held_.back().l)]() mutable { l = {}; });
        held_.pop_back();
    }
    run_for(3s);
    for (const record* r : open_) {
        if (r->what != verb::run) {
            clock_.fail("an operation is pending when all should have ended");
        }
    }
    check_keys();
    for (seat& s : seats_) {
        asio::post(s.executor, [this, &s] {
            if (clock_.one_in(2)) {
                begin(s, verb::close);
            } else {
                end_client(s);
            }
        });
    }
    run_dry();
    for (seat& s : seats_) {
        asio::post(s.executor, [&s] { s.locks.reset(); });
    }
    run_dry();
    if (!clock_.failed() && !open_.empty()) {
        clock_.fail("an operation outlived its client");
    }
    may_abandon_ = clock_.failed();
    end_abruptly();
}

/// Destroys everything in any allowed order, whatever is pending.
void play::end_abruptly()
{
    const bool all_end_first = !tidy_ && clock_.one_in(2);
    if (all_end_first) {
        for (seat& s : seats_) {
            asio::post(s.executor, [this, &s] { end_client(s); });
        }
        run_dry();
        if (!clock_.failed() && !open_.empty()) {
            clock_.fail("an operation outlived its client");
        }
    }
    may_abandon_ = may_abandon_ || (!tidy_ && !all_end_first) || clock_.failed();
    const unsigned order = clock_.below(8);
    const bool clients_first = (order & 1) != 0;
    const bool locks_first = (order & 2) != 0;
    const bool signals_first = (order & 4) != 0;
    if (clients_first) {
        for (seat& s : seats_) {
            s.locks.reset();
        }
    }
    if (locks_first) {
        held_.clear();
    }
    if (signals_first) {
        for (record& r : records_) {
            r.signal.reset();
        }
    }
    end_contexts();
}

void play::end_contexts() noexcept
{
    actions_left_ = 0;
    scopes_.clear();
    // A strand must not outlive its context. co_spawn keeps one in the signal.
    for (record& r : records_) {
        r.in_place = nullptr;
        if (r.what == verb::script || r.what == verb::scope) {
            r.signal.reset();
        }
    }
    for (seat& s : seats_) {
        s.strand.reset();
        s.executor = {};
    }
    main_.reset();
    other_.reset();
}

verdict play_twice(std::uint64_t seed)
{
    verdict v = play(seed).run();
    if (v.failure.empty() && play(seed).run().hash != v.hash) {
        v.failure = "the same seed came to another hash";
    }
    return v;
}

verdict play_all(std::uint64_t first, unsigned count)
{
    verdict sum;
    for (std::uint64_t seed = first; seed < first + count && sum.failure.empty(); ++seed) {
        const verdict v = play_twice(seed);
        sum += v;
        sum.seed = seed;
        sum.failure = v.failure;
    }
    return sum;
}

}  // namespace redlock::test
