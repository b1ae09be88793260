#include "world.hpp"

#include <algorithm>
#include <utility>

// Actions of the callers in a world.
namespace redlock::test {

using kind = core::operation::kind;
using std::chrono::milliseconds;

template <class Begin>
void world::begin(caller as, nanos patience, Begin begin)
{
    if (closed_) {
        return;
    }
    caller& c = callers_.emplace_back(std::move(as));
    c.begun = now_;
    c.place = ++places_;
    c.due = now_ + patience + settings_.node_timeout;
    c.op = &begin(with_reports ? &c.report : nullptr);
    c.op->user = &c;
    settle();
}

void world::acquire(const names& resources, acquire_options o, whose owner)
{
    if (base::validate_resources(settings_, resources) || base::validate_options(settings_, o)) {
        return;
    }
    if (owner != whose::nobodys) {
        o.reentrant_owner = &owners_.at(owner == whose::ones ? 0 : 1);
    }
    caller as;
    as.what = kind::acquire;
    as.ttl = o.ttl;
    as.resources = resources;
    as.owner = owner;
    as.fencing = o.fencing.value_or(settings_.fencing);
    as.keeps = o.keep_alive;
    begin(std::move(as), base::deadline_span(o.timeout),
          [&](redlock::report* r) -> core::operation& {
              o.report = r;
              return resources.size() == 1 ? core_.operations().acquire(now_, resources.front(), o)
                                           : core_.operations().acquire(
                                                 now_, std::make_shared<const names>(resources), o);
          });
}

/// The lock may have another holder, or none.
void world::adopt(const names& resources, std::string_view token, milliseconds ttl)
{
    if (!base::validate_resources(settings_, resources) && !base::validate_ttl(settings_, ttl)) {
        lied = true;
        ledger_.note_taken_up_besides(token);
        begin_adopt(resources, token, ttl);
    }
}

void world::adopt_again(std::size_t which, milliseconds ttl)
{
    if (handed_over_.empty() || closed_ || base::validate_ttl(settings_, ttl)) {
        return;
    }
    std::swap(handed_over_[which % handed_over_.size()], handed_over_.back());
    const handed_over there = std::move(handed_over_.back());
    handed_over_.pop_back();
    begin_adopt(there.resources, there.token, ttl);
}

void world::begin_adopt(const names& resources, std::string_view token, milliseconds ttl)
{
    caller as;
    as.what = kind::adopt;
    as.token = token;
    as.ttl = ttl;
    begin(std::move(as), nanos{}, [&](redlock::report* r) -> core::operation& {
        const auto owner = *base::owner_token::parse(token);
        return resources.size() == 1
                   ? core_.operations().adopt(now_, resources.front(), owner, ttl, r)
                   : core_.operations().adopt(now_, std::make_shared<const names>(resources), owner,
                                              ttl, r);
    });
}

core::lease* world::take_held(std::size_t which)
{
    if (held_.empty()) {
        return nullptr;
    }
    std::swap(held_[which % held_.size()], held_.back());
    core::lease* const l = held_.back();
    held_.pop_back();
    return l;
}

/// Whether another hold of its lock exists or is about to.
bool world::is_held_besides(const core::lease& l) const
{
    const auto shares = [&l](const core::lease* other) {
        return other != nullptr && other != &l && &other->root() == &l.root();
    };
    return std::any_of(held_.begin(), held_.end(), shares) ||
           std::any_of(callers_.begin(), callers_.end(), [&](const caller& c) {
               const bool may_hold = !c.done() && c.owner != whose::nobodys;
               return may_hold && shares(c.op->subject) && !c.op->subject->is_released;
           });
}

std::string world::token_of(std::size_t held) const
{
    return std::string(held_.empty() ? nobodys_token : held_[held % held_.size()]->token.view());
}

void world::extend(std::size_t held, milliseconds ttl)
{
    if (held_.empty() || base::validate_ttl(settings_, ttl)) {
        return;
    }
    core::lease& l = *held_[held % held_.size()];
    caller as;
    as.what = kind::extend;
    as.lock = &l.root();
    as.hold = &l;
    as.token = l.token.view();
    as.ttl = ttl;
    begin(std::move(as), nanos{}, [&](redlock::report* r) -> core::operation& {
        return core_.operations().extend(now_, l, ttl, r);
    });
}

void world::release(std::size_t held)
{
    core::lease* const l = closed_ ? nullptr : take_held(held);
    if (l == nullptr) {
        return;
    }
    caller as;
    as.what = kind::release;
    as.token = l->token.view();
    as.is_nested = is_held_besides(*l);
    as.is_left = l->root().is_detached;
    begin(std::move(as), nanos{}, [&](redlock::report* r) -> core::operation& {
        return core_.operations().release(now_, *l, r);
    });
}

void world::drop(std::size_t held)
{
    if (core::lease* const l = take_held(held)) {
        core_.operations().drop(now_, *l);
        settle();
    }
}

/// From then on, all other holds own nothing.
void world::hand_over(std::size_t held)
{
    if (core::lease* const l = take_held(held)) {
        const core::lease& root = l->root();
        const auto all = root.resources();
        if (!root.is_detached) {
            handed_over_.push_back({{all.begin(), all.end()}, std::string(root.token.view())});
            left_.emplace(root.token.view());
        }
        may_leave_keys_ = true;
        core_.operations().detach(now_, *l);
        for (const core::lease* other : held_) {
            require(!other->root().is_detached || other->root().valid_until() == instant{},
                    "what was handed over is owned no more");
        }
        settle();
    }
}

void world::wait_lost(std::size_t held)
{
    if (held_.empty()) {
        return;
    }
    core::lease& l = *held_[held % held_.size()];
    caller as;
    as.what = kind::wait_lost;
    as.lock = &l.root();
    as.hold = &l;
    as.token = l.token.view();
    begin(std::move(as), nanos{}, [&](redlock::report*) -> core::operation& {
        return core_.operations().wait_lost(now_, l);
    });
}

void world::inspect(std::string_view resource)
{
    if (base::validate_resource(settings_, resource)) {
        return;
    }
    caller as;
    as.what = kind::inspect;
    begin(std::move(as), nanos{}, [&](redlock::report* r) -> core::operation& {
        return core_.operations().inspect(now_, resource, {.report = r});
    });
}

void world::cancel(std::size_t nth)
{
    for (caller& c : callers_) {
        if (!c.done() && nth-- == 0) {
            core_.operations().cancel(now_, *c.op);
            settle();
            require(c.done(), "what is cancelled completes at once");
            return;
        }
    }
}

void world::close()
{
    if (closed_) {
        return;
    }
    closed_ = true;
    core_.close(now_);
    settle();
    for (const caller& c : callers_) {
        require(c.done() || c.what == kind::release, "a close ends all but releases");
    }
}

void world::stop()
{
    if (stopped_) {
        return;
    }
    closed_ = stopped_ = true;
    core_.stop(now_);
    settle();
    for (const caller& c : callers_) {
        require(c.done(), "a stop ends everything");
    }
}

}  // namespace redlock::test
