#pragma once

#include "core/coordinator.hpp"
#include "sim/call.hpp"
#include "sim/clock.hpp"
#include "sim/random.hpp"

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

/// What a program does with its client: tasks that take locks, keep them and give them back, each
/// at its own pace.
class application {
public:
    application(world& w, client& c, unsigned index, random_source random, random_source keeping);

    void begin();
    void step(unsigned task);
    void on_done(const call& c, const ending& e);
    /// Nothing new is begun; some of the locks are dropped before the client is.
    void end();
    /// Another client's lock is offered. False: nobody has the time.
    bool take_over(const std::string& resource, const base::owner_token& token);

    /// When all is well and nobody else asks for anything: takes, looks at, keeps and gives back a
    /// lock, each of which has to succeed at once.
    void prove(const std::string& resource);
    /// Takes what somebody else has, once that is free, and gives it back at once.
    void prove_waiting(const std::string& resource);
    /// Takes a lock that is kept alive, which has to be held until it is asked for and given back.
    void prove_keeping(const std::string& resource);
    void demand_kept();
    /// Takes a lock, and asks for it a second time; gives it back, which gives it to the second.
    void prove_passing_on(const std::string& resource);
    [[nodiscard]] bool stands_in_line() const { return proof_ == stage::standing; }
    void pass_on();
    [[nodiscard]] bool is_served() const { return proof_ == stage::served; }
    void demand_passed_on();
    [[nodiscard]] bool has_proved() const noexcept { return proof_ == stage::done; }

    /// To be asked behind whatever may have changed the validity of a lock.
    void look_at_leases();
    void on_news(const core::renewal_news& news);

    [[nodiscard]] bool is_idle() const noexcept;
    /// Locks.
    [[nodiscard]] std::size_t held() const noexcept;
    /// Of these, those within another one, whose record they keep.
    [[nodiscard]] std::size_t nested() const noexcept;
    /// Whether its owner may have held one of these at some time since, by another task than the
    /// one that asks.
    [[nodiscard]] bool may_have_held_one_of(const std::string& resource, unsigned asking,
                                            instant since) const;
    /// Whether a task holds the lock of this lease by another one.
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
        holding,   ///< a lock that is kept alive
        leading,   ///< is about to have what a second one is to wait for
        standing,  ///< the second one
        served,    ///< has it
        giving_back,
        done
    };
    struct task {
        state now = state::idle;
        std::string resource;
        /// Of another client's lock that is to be taken over.
        base::owner_token offered;
        core::lease* lease = nullptr;
        unsigned belief = 0;
        unsigned owner = 0;  ///< on whose behalf: the number of one of the owners; zero: nobody's
        // Of a lock that is had.
        bool kept = false;
        keep_alive limits;
        bool extended = false;  ///< by the task itself, or others of its owner
        bool lost = false;
        std::uint32_t renewals = 0;
        instant since;        ///< when its attempt began, by the client's clock
        instant known_until;  ///< its validity as it was seen last
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
    /// Of what has to do with keeping locks alive.
    random_source keeping_;
    /// Of what has to do with locks of several resources.
    random_source grouping_;
    /// Of what has to do with owners; and with which of them it is.
    random_source owning_;
    random_source choosing_;
    /// On whose behalf tasks share locks.
    const std::array<redlock::reentrant_owner, 2> owners_;
    /// When one of them last gave back a resource.
    std::map<std::pair<unsigned, std::string>, instant> owned_until_;
    std::vector<task> tasks_;
    bool ended_ = false;
    stage proof_ = stage::none;
};

}  // namespace redlock::sim
