#pragma once

#include "client_sim/clockwork.hpp"
#include "client_sim/probe.hpp"
#include "client_sim/sim_context.hpp"
#include "client_sim/sim_node.hpp"
#include "client_sim/sim_world.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace redlock::test {

/// The result of a play.
struct verdict {
    std::uint64_t seed = 0;
    std::uint64_t hash = 0;
    /// The failure. Empty if there is none.
    std::string failure;

    // Counts of events, which show that many plays test something.
    unsigned handlers = 0;
    unsigned locks = 0;
    unsigned aborted = 0;
    unsigned closed = 0;
    unsigned abandoned = 0;
    unsigned thrown = 0;
    unsigned steps = 0;
    bool tidy = false;
    /// Plays with TLS to some node. Also the locks of those in which the plain nodes are no
    /// majority, so each lock needed a vote over TLS.
    unsigned encrypted = 0;
    unsigned locks_encrypted = 0;
    unsigned losses = 0;  ///< with a waiter
    unsigned nested = 0;  ///< releases with the result `still_held`
    unsigned renewed = 0;
    unsigned ends_told = 0;  ///< expired keys that a node deleted and notified of
    unsigned bodies = 0;     ///< bodies that began under a lock
    unsigned stopped = 0;    ///< bodies that a loss, a cancellation or the client's end stopped

    verdict& operator+=(const verdict& o);
};

std::ostream& operator<<(std::ostream& out, const verdict& v);

/**
 * Two clients on an execution context of the test's own, some nodes, and operations of every kind
 * that begin, are cancelled, and end in every way. The seed decides everything.
 */
class play final : public audience {
public:
    explicit play(std::uint64_t seed, std::ostream* trace = nullptr);
    ~play();

    /// Call it once.
    [[nodiscard]] verdict run();

private:
    /// A place for clients, one after the other.
    struct seat {
        enum class kind : std::uint8_t { plain, on_strand, thread_safe };

        kind how = kind::plain;
        redlock::config config;
        std::optional<asio::strand<sim_executor>> strand;
        asio::any_io_executor executor;
        std::optional<client> locks;
        life* now = nullptr;
    };
    struct held {
        lock l;
        seat* from = nullptr;
        life* of = nullptr;
        unsigned number = 0;
    };
    struct handed_over {
        std::vector<std::string> names;
        std::string owner;
    };
    /// A `with_lock` body that consists of handlers.
    struct open_scope {
        lock_scope handle;
        record* of;
    };
    static constexpr std::array<std::string_view, 3> names{"a", "b", "c"};
    class shown;
    /// Thrown by one of the play's handlers.
    struct thrown {
        unsigned by;
    };

    // The loop.
    void step();
    void step(sim_context& c);
    void run_for(std::chrono::milliseconds time);
    void run_dry();
    void check_due();
    void check_wait(record& r, base::instant next);
    void check_work();
    void check_exclusion();
    void check_keys();
    void check_handlers();

    // The end of a play.
    void end_tidily();
    void end_abruptly();
    void end_contexts() noexcept;
    void heal();

    // Actions of users.
    void act();
    template <class F>
    void on_client(seat& s, F f);
    [[nodiscard]] bool may_touch(const seat& s) const;
    [[nodiscard]] seat& any_seat() { return seats_[clock_.below(2)]; }
    void make_client(seat& s);
    void end_client(seat& s);
    void ends(life& l);
    void upset_a_node();
    void cancel_one();
    void give_one_up();
    void begin_any(seat& s);
    void begin(seat& s, verb what);
    template <class Operation>
    void launch(seat& s, record& r, Operation op);
    template <class Operation>
    void initiate(seat& s, record& r, Operation op, unsigned token);
    template <class Operation>
    void initiate_bound(seat& s, record& r, Operation op);
    [[nodiscard]] record& new_record(life& of, verb what);
    /// The context of a client must not end while a body runs on another one.
    [[nodiscard]] bool may_be_elsewhere(const record& r) const
    {
        return r.what != verb::scope || tidy_;
    }
    void mark_begun(record& r);
    void begin_script(seat& s);
    asio::awaitable<void> script(seat& s, record& r);
    [[nodiscard]] acquire_options any_options();
    [[nodiscard]] std::chrono::milliseconds any_ttl();
    [[nodiscard]] std::string_view any_name();
    /// One resource or several, in any order.
    [[nodiscard]] std::vector<std::string> any_names();
    [[nodiscard]] held take_held(const seat* of);
    void begin_acquire(seat& s, record& r);
    void begin_adopt(seat& s, record& r);
    void begin_wait(seat& s);
    void hand_over(lock l);

    // Bodies under a lock.
    void begin_scope(seat& s);
    asio::awaitable<void> body(seat& s, record& r, lock& l);
    asio::awaitable<void> body_step(seat& s, lock& l);
    void begin_handlers(record& r, lock_scope handle);
    void end_a_scope(const record* of);
    void on_renewal(seat& s, const renewal& news);

    // Results for users.
    void on_called(record& r, error_code ec, lock l) override;
    void on_thrown(record& r, std::exception_ptr e) override;
    void on_scope(record& r, const with_lock_result<void>& result) override;
    void on_destroyed(record& r) noexcept override;
    void check_call(record& r);
    void check_error(const record& r, const life& l, verb what, error_code ec, bool has_lock);
    void check_loss(const record& r, error_code ec);
    void check_scope(const record& r, const with_lock_result<void>& result);
    void react(record& r);

    clockwork clock_;
    verdict verdict_;
    /// Executors are busy: time passes while handlers wait.
    const bool lags_;
    /// Locks expire during the play.
    const bool short_lived_;
    /// No client ends before the play does, so no key may be left.
    const bool tidy_;
    /// The identity of the nodes with TLS.
    std::optional<sim_identity> identity_;
    std::deque<sim_node> nodes_;
    /// The plain nodes are no majority.
    bool needs_tls_ = false;
    std::optional<sim_context> main_;
    std::optional<sim_context> other_;
    std::array<seat, 2> seats_;
    /// Used by both clients, which do not share its locks.
    const redlock::reentrant_owner me_;
    std::deque<life> lives_;
    std::deque<record> records_;
    std::vector<record*> open_;
    std::vector<held> held_;
    unsigned locks_had_ = 0;
    std::vector<open_scope> scopes_;
    std::vector<const lock*> shown_;
    std::deque<handed_over> handed_over_;
    /// This many of the detached locks were adopted, from the front on.
    std::size_t adopted_ = 0;
    unsigned actions_left_;
    unsigned thrown_ = 0;
    unsigned caught_ = 0;
    /// No operation begins any more.
    bool over_ = false;
    bool may_abandon_ = false;
};

/// Runs `f` here if the client may be used here, otherwise posts it.
template <class F>
void play::on_client(seat& s, F f)
{
    if (may_touch(s) && !clock_.one_in(4)) {
        f();
    } else if (s.executor) {
        asio::post(s.executor, std::move(f));
    }
}

/// Starts the operation now or some time later.
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
            sim_context& c = clock_.one_in(2) || !may_be_elsewhere(r) ? *main_ : *other_;
            r.in_other_context = &c == &*other_;
            r.in_place = [&c] { return c.running(); };
            std::move(op)(bound_probe<sim_executor>(*this, r, c.get_executor()));
        }
    }
    r.initiating = false;
}

/// Uses a type-erased executor.
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
            if (!may_be_elsewhere(r)) {
                break;
            }
            r.in_other_context = true;
            r.in_place = [this] { return other_->running(); };
            ex = other_->get_executor();
    }
    std::move(op)(bound_probe<asio::any_io_executor>(*this, r, std::move(ex)));
}

/// A coroutine's lock, stored where the checks find it.
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

/// Plays twice, because one seed must give one hash.
[[nodiscard]] verdict play_twice(std::uint64_t seed);

/// Plays this many seeds from `first` on. Ends with the first failure.
[[nodiscard]] verdict play_all(std::uint64_t first, unsigned count);

}  // namespace redlock::test
