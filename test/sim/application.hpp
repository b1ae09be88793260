#pragma once

#include "core/coordinator.hpp"
#include "sim/call.hpp"
#include "sim/clock.hpp"
#include "sim/random.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace redlock::sim {

class client;
class world;

/// What a program does with its client: tasks that take locks, keep them and give them back, each
/// at its own pace.
class application {
public:
    application(world& w, client& c, unsigned index, random_source random);

    void begin();
    void step(unsigned task);
    void on_done(const call& c, const ending& e);
    /// Nothing new is begun; some of the locks are dropped before the client is.
    void end();
    /// Another client's lock is offered. False: nobody has the time.
    bool take_over(const std::string& resource, const base::owner_token& token);

    /// When all is well and nobody else asks for anything: takes, looks at, keeps and gives back a
    /// lock, each of which has to succeed at once.
    void prove();
    [[nodiscard]] bool has_proved() const noexcept { return proof_ == stage::done; }

    [[nodiscard]] bool is_idle() const noexcept;
    /// Locks.
    [[nodiscard]] std::size_t held() const noexcept;

private:
    enum class state : std::uint8_t { idle, offered, waiting, holding };
    enum class stage : std::uint8_t {
        none,
        taking,
        looking,
        keeping,
        releasing,
        looking_again,
        done
    };
    struct task {
        state now = state::idle;
        std::string resource;
        /// Of another client's lock that is to be taken over.
        base::owner_token offered;
        core::lease* lease = nullptr;
        unsigned belief = 0;
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
    [[nodiscard]] std::chrono::milliseconds some_ttl();
    [[nodiscard]] instant believed_until(const core::lease& l) const;
    void end_belief(task& t);

    world& w_;
    client& c_;
    const unsigned index_;
    random_source random_;
    std::vector<task> tasks_;
    bool ended_ = false;
    stage proof_ = stage::none;
};

}  // namespace redlock::sim
