#include "sim/application.hpp"

#include "sim/names.hpp"
#include "sim/world.hpp"

#include <algorithm>

namespace redlock::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// The timeout of an acquire that waits until it gets the lock.
constexpr milliseconds for_ever = 1h;

}  // namespace

application::application(world& w, client& c, unsigned index, random_source random,
                         random_source keeping)
    : w_(w),
      c_(c),
      index_(index),
      random_(random),
      keeping_(keeping),
      grouping_(w.planned().seed, 400 + index),
      owning_(w.planned().seed, 40'000 + index * 1000 + c.generation()),
      choosing_(w.planned().seed, 60'000 + index * 1000 + c.generation()),
      tasks_(w.planned().tasks)
{}

void application::begin()
{
    for (unsigned t = 0; t < tasks_.size(); ++t) {
        pause(t);
    }
}

/// Waits until the task's next step.
void application::pause(unsigned t)
{
    w_.schedule(random_.waiting(w_.planned().pace), event_kind::step, index_, c_.generation(), t);
}

void application::may_cancel(const call& c, nanos within)
{
    if (w_.faults.happens(fault::cancel)) {
        w_.schedule(random_.between(nanos{0}, within), event_kind::cancel, index_, c_.generation(),
                    c.serial);
    }
}

void application::step(unsigned t)
{
    if (ended_) {
        return;
    }
    using kind = core::operation::kind;
    const bool wants = tasks_[t].now == state::idle || tasks_[t].now == state::offered;
    if (wants && !c_.has_room_for(kind::acquire)) {
        pause(t);
        return;
    }
    switch (tasks_[t].now) {
        case state::idle: acquire(t); return;
        case state::offered:
            tasks_[t].now = state::waiting;
            may_cancel(c_.adopt(t, tasks_[t].resource, tasks_[t].offered, some_ttl()), 10ms);
            return;
        case state::waiting: return;
        case state::holding: use(t); return;
    }
}

milliseconds application::some_ttl()
{
    const auto& ttls = w_.planned().ttls;
    return std::min(ttls[random_.below(ttls.size())], w_.planned().longest_ttl_of(index_));
}

/// Draws one resource, or several in any order.
std::string application::some_resources()
{
    const unsigned all = w_.planned().resources;
    const std::string one = "r" + std::to_string(random_.below(all));
    const std::uint32_t one_in = w_.planned().groups_one_in;
    if (one_in == 0 || all == 1 || !grouping_.one_in(one_in)) {
        return one;
    }
    std::vector<std::string> names;
    for (unsigned i = 0; i < all; ++i) {
        names.insert(names.begin() + static_cast<std::ptrdiff_t>(grouping_.below(i + 1)),
                     "r" + std::to_string(i));
    }
    names.resize(grouping_.between(2, all));
    return joined(names);
}

void application::acquire(unsigned t)
{
    if (w_.acquires_left == 0) {
        return;
    }
    --w_.acquires_left;
    acquire_options o;
    o.ttl = some_ttl();
    switch (random_.below(5)) {
        case 0: o.timeout = 0ms; break;
        case 1: o.timeout = milliseconds{random_.between(1, 300)}; break;
        case 2:
            // This timeout outlasts the locks of clients that died.
            o.timeout = w_.planned().longest_ttl() < 10s ? for_ever : 20s;
            break;
        default: o.timeout = milliseconds{random_.between(500, 20'000)}; break;
    }
    const bool waits = w_.planned().backoff_max > 0ms;
    if (!waits || random_.one_in(8)) {
        o.max_attempts = static_cast<std::uint32_t>(random_.between(1, 4));
    }
    if (random_.one_in(8)) {
        // Half of the validity for an acquire that waits long. Otherwise so much that most attempts
        // take too long.
        const auto most = std::chrono::floor<milliseconds>(c_.settings().validity(o.ttl));
        o.min_validity = o.timeout > 300ms ? o.ttl / 2 : most - milliseconds{random_.below(10)};
    }
    task& mine = tasks_[t];
    mine.now = state::waiting;
    mine.resource = some_resources();
    may_own(mine, o);
    may_keep(mine, o);
    const call& begun = c_.acquire(t, mine.resource, o);
    may_cancel(begun, random_.one_in(2) ? nanos{80ms} : nanos{o.timeout});
}

/// Takes the next step with a lock that the task holds.
void application::use(unsigned t)
{
    if (w_.is_quiet()) {
        release(t);
        return;
    }
    if (goes_on_keeping(t)) {
        return;
    }
    if (stays_to_the_end(t)) {
        return;
    }
    if (w_.faults.happens(fault::drop)) {
        drop(t);
        return;
    }
    if (w_.faults.happens(fault::hand_over) && hand_over(t)) {
        return;
    }
    using kind = core::operation::kind;
    const auto choice = random_.below(10);
    if (choice < 5 || !c_.has_room_for(choice < 8 ? kind::extend : kind::inspect)) {
        release(t);
    } else if (choice < 8) {
        extend(t);
    } else {
        may_cancel(c_.inspect(t, parts_of(tasks_[t].resource).front()), 10ms);
        pause(t);
    }
}

/// In true time. An application that never asks `owns()` believes in the lease until it has
/// released it.
instant application::believed_until(const core::lease& l) const
{
    if (w_.planned().outside == beyond::ignores_owns) {
        return w_.now() + 1000h;
    }
    return c_.true_time(l.root().valid_until());
}

void application::end_belief(task& t)
{
    note_end_of_hold(t);
    w_.checks.end_belief(t.belief);
    t.belief = 0;
}

void application::release(unsigned t)
{
    task& mine = tasks_[t];
    const instant until = believed_until(*mine.lease);
    end_belief(mine);
    mine.now = state::waiting;
    may_cancel(c_.release(t, *std::exchange(mine.lease, nullptr), until), 10ms);
}

void application::drop(unsigned t)
{
    task& mine = tasks_[t];
    end_belief(mine);
    c_.drop(*std::exchange(mine.lease, nullptr));
    mine.now = state::idle;
    pause(t);
}

void application::extend(unsigned t)
{
    task& mine = tasks_[t];
    mine.extended = true;
    const call& begun = c_.extend(t, *mine.lease, some_ttl(), believed_until(*mine.lease));
    may_cancel(begun, 20ms);
    if (random_.one_in(3)) {
        pause(t);  // the task doesn't wait for the extend
    } else {
        mine.now = state::waiting;
    }
}

bool application::hand_over(unsigned t)
{
    task& mine = tasks_[t];
    if (mine.lease->within != nullptr || c_.is_held_besides(*mine.lease)) {
        return false;
    }
    client& other = *w_.clients[random_.below(w_.clients.size())];
    if (&other == &c_ || !other.is_alive() || other.is_paused()) {
        return false;
    }
    const base::owner_token token = mine.lease->token;
    if (!other.app().take_over(mine.resource, token)) {
        return false;
    }
    w_.checks.orphan(token.view(), mine.lease->answered != mine.lease->asked);
    end_belief(mine);
    c_.let_go(*std::exchange(mine.lease, nullptr));
    mine.now = state::idle;
    pause(t);
    return true;
}

bool application::take_over(const std::string& resource, const base::owner_token& token)
{
    for (unsigned t = 0; t < tasks_.size(); ++t) {
        task& mine = tasks_[t];
        if (mine.now == state::idle && !ended_) {
            mine.now = state::offered;
            mine.resource = resource;
            mine.offered = token;
            // The lease has sometimes ended by then.
            const nanos longest = random_.one_in(2) ? nanos{2 * some_ttl()} : w_.planned().pace;
            w_.schedule(random_.between(nanos{0}, std::min<nanos>(longest, 5s)), event_kind::step,
                        index_, c_.generation(), t);
            return true;
        }
    }
    return false;
}

void application::on_done(const call& c, const ending& e)
{
    if (proof_ != stage::none) {
        on_proof(c, e);
        return;
    }
    const error_code& ec = e.error;
    task& mine = tasks_[c.task];
    switch (c.what) {
        case core::operation::kind::acquire:
        case core::operation::kind::adopt:
            mine.now = ec ? state::idle : state::holding;
            if (e.held != nullptr) {
                mine.lease = e.held;
                mine.kept = mine.kept && c.what == core::operation::kind::acquire;
                mine.owner = c.what == core::operation::kind::acquire ? mine.owner : 0;
                mine.belief = w_.checks.begin_belief(index_, mine.owner, c.resource,
                                                     e.held->token.view(), believed_until(*e.held));
                if (ended_) {
                    drop(c.task);
                    return;
                }
                begin_keeping(c.task);
            }
            break;
        case core::operation::kind::extend:
            if (mine.lease != c.lease) {
                return;  // the task released the lock in the meantime
            }
            if (!ec) {
                w_.checks.prolong_belief(mine.belief, believed_until(*c.lease));
            } else if (ec == errc::lost) {
                end_beliefs_in(mine.lease->root());
            } else if (ec == errc::not_held) {
                w_.checks.fail("c" + std::to_string(index_) + ": " + c.resource +
                               " is held, but who extends it is told otherwise");
            }
            if (mine.now == state::holding) {
                return;  // the task went on without waiting for the extend
            }
            mine.now = state::holding;
            break;
        case core::operation::kind::release: mine.now = state::idle; break;
        case core::operation::kind::inspect:
        case core::operation::kind::wait_lost:
            if (ec == errc::not_held && mine.lease != nullptr &&
                mine.lease->token.view() == c.token) {
                w_.checks.fail("c" + std::to_string(index_) + ": " + c.resource +
                               " is held, but who waits for its loss is told otherwise");
            }
            return;
        case core::operation::kind::renew: return;
    }
    pause(c.task);
}

void application::prove(const std::string& resource)
{
    proof_ = stage::taking;
    acquire_options o;
    o.ttl = some_ttl();
    // A client without pings doesn't notice that an idle connection is half open.
    const bool may_be_surprised = w_.planned().has(fault::half_open) && !w_.planned().pings;
    // Nodes that do not agree on a fencing token do so when their dates have gone on a little.
    const bool may_disagree = w_.planned().fencing && w_.planned().has(fault::clock_offset);
    o.timeout = may_disagree       ? ceil<milliseconds>(w_.planned().counter_slack / 2)
                : may_be_surprised ? 500ms
                                   : 0ms;
    (void)c_.acquire(0, resource, o);
}

void application::prove_waiting(const std::string& resource)
{
    proof_ = stage::waiting;
    acquire_options o;
    o.ttl = some_ttl();
    o.timeout = 1h;
    (void)c_.acquire(0, resource, o);
}

void application::prove_keeping(const std::string& resource)
{
    proof_ = stage::holding;
    acquire_options o;
    o.ttl = *std::min_element(w_.planned().ttls.begin(), w_.planned().ttls.end());
    o.timeout = 1h;
    o.keep_alive = keep_alive{};
    tasks_[0].kept = true;
    (void)c_.acquire(0, resource, o);
}

void application::demand_kept()
{
    const core::lease* const lease = tasks_[0].lease;
    demand(lease != nullptr && lease->valid_until() > c_.local_now(),
           "a lock that is kept alive is lost");
    give_back();
}

void application::prove_passing_on(const std::string& resource)
{
    proof_ = stage::leading;
    acquire_options o;
    o.ttl = w_.planned().longest_ttl();
    o.timeout = 1h;
    (void)c_.acquire(0, resource, o);
}

void application::pass_on()
{
    demand(proof_ == stage::standing, "a free lock cannot be had");
    end_belief(tasks_[0]);
    core::lease& first = *std::exchange(tasks_[0].lease, nullptr);
    (void)c_.release(0, first, believed_until(first));
}

void application::demand_passed_on()
{
    demand(proof_ == stage::served, "who stands in line is not given what was given back");
    give_back();
}

/// Holds the lock for longer than an attempt may take.
void application::have(const call& c, core::lease& held)
{
    tasks_[0].owner = 0;
    tasks_[0].lease = &held;
    tasks_[0].belief =
        w_.checks.begin_belief(index_, 0, c.resource, held.token.view(), believed_until(held));
}

void application::give_back()
{
    proof_ = stage::giving_back;
    end_belief(tasks_[0]);
    core::lease& held = *std::exchange(tasks_[0].lease, nullptr);
    (void)c_.release(0, held, believed_until(held));
}

void application::demand(bool true_, const char* what) const
{
    if (!true_) {
        w_.checks.fail("c" + std::to_string(index_) + ": all is well, but " + what);
    }
}

void application::on_proof(const call& c, const ending& e)
{
    core::lease*& lease = tasks_[0].lease;
    switch (proof_) {
        case stage::taking:
            demand(!e.error, "a free lock cannot be had");
            lease = e.held;
            proof_ = stage::looking;
            (void)c_.inspect(0, c.resource);
            return;
        case stage::looking:
            // The commands of the acquire may still fill a tight buffer.
            if (!e.error && e.found.state == lock_state::unknown && w_.planned().is_tight()) {
                proof_ = stage::looking_anew;
                (void)c_.inspect(0, c.resource);
                return;
            }
            [[fallthrough]];
        case stage::looking_anew:
            demand(!e.error && e.found.state == lock_state::held && e.found.owner_known,
                   "who looks at a lock does not see that it is held");
            demand(e.found.remaining && *e.found.remaining <= w_.planned().longest_ttl(),
                   "who looks at a lock does not see how long");
            proof_ = stage::keeping;
            (void)c_.extend(0, *lease, some_ttl(), believed_until(*lease));
            return;
        case stage::keeping:
            demand(!e.error, "a held lock cannot be kept");
            proof_ = stage::releasing;
            (void)c_.release(0, *lease, believed_until(*lease));
            lease = nullptr;
            return;
        case stage::releasing:
            demand(!e.error && e.released == release_result::released,
                   "a held lock cannot be given back");
            proof_ = stage::looking_again;
            (void)c_.inspect(0, c.resource);
            return;
        case stage::waiting:
            demand(!e.error, "who waits for a lock is not given it");
            lease = e.held;
            give_back();
            return;
        case stage::holding:
            demand(!e.error, "a lock that is to be kept alive cannot be had");
            have(c, *e.held);
            return;
        case stage::leading: {
            demand(!e.error, "a free lock cannot be had");
            have(c, *e.held);
            proof_ = stage::standing;
            acquire_options o;
            o.ttl = w_.planned().longest_ttl();
            o.timeout = 1h;
            (void)c_.acquire(0, c.resource, o);
            return;
        }
        case stage::standing:
        case stage::served:
            demand(!e.error, "a lock cannot be passed on");
            if (c.what == core::operation::kind::acquire) {
                have(c, *e.held);
                proof_ = stage::served;
            }
            return;
        case stage::giving_back:
            demand(!e.error && e.released == release_result::released,
                   "a lock that was waited for cannot be given back");
            proof_ = stage::done;
            return;
        case stage::looking_again:
            // A node that permits only the script answers after the commands that came in between.
            // Before that, a majority had no key.
            if (!e.error && e.found.state == lock_state::unknown) {
                proof_ = stage::looking_once_more;
                (void)c_.inspect(0, c.resource);
                return;
            }
            [[fallthrough]];
        case stage::looking_once_more:
            demand(!e.error && e.found.state == lock_state::free,
                   "who looks at a lock does not see that it is free");
            proof_ = stage::done;
            return;
        case stage::none:
        case stage::done: return;
    }
}

void application::end()
{
    ended_ = true;
    for (task& t : tasks_) {
        if (t.lease == nullptr) {
            continue;
        }
        if (t.kept && keeping_.one_in(2)) {
            // The lock stays with its client, which no longer renews it.
            w_.checks.orphan(t.lease->token.view(), true);
            continue;
        }
        note_end_of_hold(t);  // the core may report a refused acquire only after this release
        // Detaching the lock would end the other holds of its owner.
        if (random_.one_in(2) || t.lease->root().holds > 1) {
            c_.drop(*t.lease);
        } else {
            w_.checks.orphan(t.lease->token.view(), true);
            c_.let_go(*t.lease);
        }
        t.lease = nullptr;
    }
    w_.checks.end_beliefs_of(index_);
}

bool application::is_idle() const noexcept
{
    return std::all_of(tasks_.begin(), tasks_.end(),
                       [](const task& t) { return t.now == state::idle; });
}

std::size_t application::held() const noexcept
{
    return static_cast<std::size_t>(std::count_if(
        tasks_.begin(), tasks_.end(), [](const task& t) { return t.lease != nullptr; }));
}

}  // namespace redlock::sim
