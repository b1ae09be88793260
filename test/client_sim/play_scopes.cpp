#include "client_sim/play.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

// Bodies that users of a play run under a lock, and their renewal callbacks.
namespace redlock::test {

using asio::cancellation_type;

namespace {

/// Lives while a body runs. May be destroyed with its context.
class running_body {
public:
    explicit running_body(record& r) : record_(r)
    {
        ++r.bodies;
        r.body_runs = true;
    }
    running_body(const running_body&) = delete;
    running_body& operator=(const running_body&) = delete;
    ~running_body() { record_.body_runs = false; }

private:
    record& record_;
};

}  // namespace

/// Begins a body under a lock of one resource or several, as a coroutine or made of handlers.
void play::begin_scope(seat& s)
{
    if (!s.locks) {
        return;
    }
    record& r = new_record(*s.now, verb::scope);
    const acquire_options o = any_options();
    if (clock_.one_in(2)) {
        launch(s, r, with_lock(*s.locks, any_names(), o, [this, &s, &r](lock& l) {
                   return body(s, r, l);
               }));
    } else {
        launch(s, r, with_lock(*s.locks, any_names(), o, [this, &r](lock_scope handle) {
                   begin_handlers(r, std::move(handle));
               }));
    }
}

asio::awaitable<void> play::body(seat& s, record& r, lock& l)
{
    const running_body mark(r);
    ++verdict_.bodies;
    const shown where(*this, l);
    for (unsigned steps = clock_.below(4); steps > 0; --steps) {
        if (r.in_place && !r.in_place()) {
            clock_.fail("a body goes on where it does not belong");
        }
        co_await body_step(s, l);
    }
}

asio::awaitable<void> play::body_step(seat& s, lock& l)
{
    constexpr auto token = asio::as_tuple(asio::use_awaitable);
    const bool is_clients = main_->running() && may_touch(s);
    const bool may_use = s.locks && (is_clients || s.how == seat::kind::thread_safe);
    switch (may_use ? clock_.below(8) : 0) {
        case 1: co_await s.locks->async_inspect(any_name(), token); break;
        case 2: co_await s.locks->async_extend(l, any_ttl(), token); break;
        case 3:
            // The body runs until something stops it.
            if (!tidy_ && l) {
                co_await l.async_wait_lost(token);
            }
            break;
        case 4: co_await s.locks->async_acquire(any_names(), any_options(), token); break;
        case 5: co_await s.locks->async_release(std::move(l), token); break;
        case 6: throw std::runtime_error("of a body");
        default: co_await asio::post(asio::use_awaitable);
    }
}

/// The body runs until a later step ends it.
void play::begin_handlers(record& r, lock_scope handle)
{
    ++r.bodies;
    ++verdict_.bodies;
    if (clock_.one_in(8)) {
        throw std::runtime_error("of a body that does not begin");
    }
    r.body_runs = true;
    handle.slot().assign([this, &r, ex = handle.get_executor()](cancellation_type) {
        asio::post(ex, [this, &r] { end_a_scope(&r); });
    });
    scopes_.push_back({std::move(handle), &r});
}

void play::end_a_scope(const record* of)
{
    const auto at = std::ranges::find(scopes_, of, &open_scope::of);
    if (at == scopes_.end()) {
        return;
    }
    open_scope ends = std::move(*at);
    scopes_.erase(at);
    ends.of->body_runs = false;
    ends.handle.slot().clear();
    switch (clock_.below(3)) {
        case 0: ends.handle.done(); return;
        case 1: ends.handle.done(asio::error::connection_reset); return;
        default: return;  // like a user who forgets it
    }
}

void play::on_scope(record& r, const with_lock_result<void>& result)
{
    clock_.note("scope ended", r.number, static_cast<std::uint64_t>(result.status));
    check_call(r);
    check_scope(r, result);
    if (actions_left_ > 0 && clock_.one_in(3)) {
        --actions_left_;
        act();
    }
}

void play::check_scope(const record& r, const with_lock_result<void>& result)
{
    const auto demand = [this](bool holds, std::string_view what) {
        if (!holds) {
            clock_.fail(what);
        }
    };
    demand(r.bodies <= 1, "a body was begun twice");
    demand(!r.body_runs, "a body outlived its scope");
    const bool fits_an_end =
        result.status == with_lock_status::completed || result.status == with_lock_status::failed;
    demand(fits_an_end != static_cast<bool>(result.error), "an end and its error do not fit");
    demand(result.status != with_lock_status::completed || !result.failure,
           "what failed has completed");
    demand(!fits_an_end || r.bodies == 1, "a body is said to have ended that never began");
    switch (result.status) {
        case with_lock_status::completed: return;
        case with_lock_status::failed:
            demand(result.failure != nullptr, "a failure is not told");
            return;
        case with_lock_status::lost:
            ++verdict_.stopped;
            demand(result.error == errc::lost || r.of.asked_to_end,
                   "a scope ended with its client, which did not end");
            return;
        case with_lock_status::cancelled:
            ++verdict_.stopped;
            demand((r.emitted & cancellation_type::terminal) != cancellation_type::none,
                   "a scope was called off that nobody cancelled");
            return;
        case with_lock_status::not_acquired:
            demand(r.bodies == 0, "a body ran without a lock");
            demand(result.error != errc::closed || r.of.asked_to_end,
                   "a scope ended with its client, which did not end");
            return;
    }
}

/// Like a program's own metrics: may do anything, or throw.
void play::on_renewal(seat& s, const renewal& news)
{
    clock_.note("renewal", static_cast<std::uint64_t>(news.outcome));
    verdict_.renewed += news.outcome == renewal_outcome::renewed;
    if (!main_->running() || !may_touch(s)) {
        clock_.fail("news of a renewal come where they do not belong");
    }
    if (actions_left_ > 0 && clock_.one_in(4)) {
        --actions_left_;
        act();
    }
    if (clock_.one_in(16)) {
        throw std::runtime_error("of who looks on");
    }
}

}  // namespace redlock::test
