#pragma once

#include "core/client_core.hpp"
#include "sim/call.hpp"
#include "sim/clock.hpp"
#include "support/virtual/random.hpp"

#include <redlock/reentrant_owner.hpp>

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redlock::sim {

class client;
class world;

/// A program that uses one client: its tasks take locks, keep them alive and release them, each at
/// its own pace.
class application {
public:
    application(world& w, client& c, unsigned index, random_source random, random_source keeping);

    void begin();
    void step(unsigned task);
    void on_done(const call& c, const ending& e);
    /// Begins nothing new. Drops some of the locks before the client ends.
    void end();
    /// Offers the lock of another client to this one. False if no task is idle.
    bool take_over(const std::string& resource, const base::owner_token& token);

    /// Takes, inspects, extends and releases a lock while nothing is wrong and no other client
    /// wants it. Each operation must succeed at once.
    void prove(const std::string& resource);
    /// Waits for a lock that a stranger holds, takes it once it is free, and releases it at once.
    void prove_waiting(const std::string& resource);
    /// Takes a lock with keep-alive. The client must hold it until `demand_kept` asks for it and
    /// releases it.
    void prove_keeping(const std::string& resource);
    void demand_kept();
    /// Takes a lock and acquires it a second time. The release of the first must give the lock to
    /// the second.
    void prove_passing_on(const std::string& resource);
    [[nodiscard]] bool stands_in_line() const { return proof_ == stage::standing; }
    void pass_on();
    [[nodiscard]] bool is_served() const { return proof_ == stage::served; }
    void demand_passed_on();
    [[nodiscard]] bool has_proved() const noexcept { return proof_ == stage::done; }

    /// Must be called after everything that may have changed the validity of a lock.
    void look_at_leases();
    void on_news(const core::renewal_news& news);

    [[nodiscard]] bool is_idle() const noexcept;
    /// Number of locks that tasks hold.
    [[nodiscard]] std::size_t held() const noexcept;
    /// Number of these locks that are further holds of another lease. They use its record.
    [[nodiscard]] std::size_t nested() const noexcept;
    /// Whether another task of the same owner may have held one of these resources since that
    /// instant.
    [[nodiscard]] bool may_have_held_one_of(const std::string& resource, unsigned asking,
                                            instant since) const;
    /// Whether a task has another hold of this lease.
    [[nodiscard]] bool holds_besides(const core::lease& l) const noexcept;

private:
    enum class state : std::uint8_t { idle, offered, waiting, holding };
    enum class stage : std::uint8_t {
        none,
        taking,
        looking,
        looking_anew,
        keeping,
        releasing,
        looking_again,
        looking_once_more,
        waiting,
        holding,   ///< holds a lock that is kept alive
        leading,   ///< the first task is about to get the lock
        standing,  ///< the second acquire waits
        served,    ///< the second acquire has the lock
        giving_back,
        done
    };
    struct task {
        state now = state::idle;
        std::string resource;
        /// The owner token of another client's lock that this task will adopt.
        base::owner_token offered;
        core::lease* lease = nullptr;
        unsigned belief = 0;
        unsigned owner = 0;  ///< number of the reentrant owner; zero: none
        // About the lock that the task holds.
        bool kept = false;
        keep_alive limits;
        bool extended = false;  ///< by the task itself or by other holds of its owner
        bool lost = false;
        std::uint32_t renewals = 0;
        instant since;        ///< when its attempt began, by the client's clock
        instant known_until;  ///< its validity when the task last read it
    };

    void acquire(unsigned t);
    void use(unsigned t);
    void release(unsigned t);
    void drop(unsigned t);
    void extend(unsigned t);
    bool hand_over(unsigned t);
    void pause(unsigned t);
    void may_cancel(const call& c, nanos within);
    void on_proof(const call& c, const ending& e);
    void demand(bool true_, const char* what) const;
    void have(const call& c, core::lease& held);
    void give_back();
    [[nodiscard]] std::chrono::milliseconds some_ttl();
    [[nodiscard]] std::string some_resources();
    [[nodiscard]] instant believed_until(const core::lease& l) const;
    void end_belief(task& t);
    void end_beliefs_in(core::lease& root);
    void may_own(task& mine, acquire_options& o);
    void note_end_of_hold(const task& mine);
    [[nodiscard]] bool stays_to_the_end(unsigned t);
    void may_keep(task& mine, acquire_options& o);
    void begin_keeping(unsigned t);
    [[nodiscard]] bool goes_on_keeping(unsigned t);
    void look_at(task& mine);

    world& w_;
    client& c_;
    const unsigned index_;
    random_source random_;
    /// Decides about keep-alive.
    random_source keeping_;
    /// Decides about locks of several resources.
    random_source grouping_;
    /// `owning_` decides whether a task has a reentrant owner, and `choosing_` which one.
    random_source owning_;
    random_source choosing_;
    /// The reentrant owners for which tasks share locks.
    const std::array<redlock::reentrant_owner, 2> owners_;
    /// When an owner last released a resource.
    std::map<std::pair<unsigned, std::string>, instant> owned_until_;
    std::vector<task> tasks_;
    bool ended_ = false;
    stage proof_ = stage::none;
};

}  // namespace redlock::sim
