#pragma once

#include "base/entropy.hpp"
#include "base/settings.hpp"
#include "sim/application.hpp"
#include "sim/call.hpp"
#include "sim/clock.hpp"
#include "sim/core_memory.hpp"
#include "sim/network.hpp"
#include "sim/random.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace redlock::sim {

class world;
struct event;

/// Owner tokens and jitter, from the play's seed.
class seeded_entropy final : public base::entropy {
public:
    seeded_entropy(std::uint64_t seed, std::uint64_t purpose) : random_(seed, purpose) {}
    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override;

private:
    random_source random_;
};

/**
 * One process with one client: the core that ships, and round it what the engine does, in the same
 * order: bytes before timers, completions and one flush a connection in a turn of their own.
 */
class client {
public:
    client(world& w, unsigned index);
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// How many nodes it was given.
    [[nodiscard]] std::size_t nodes() const noexcept { return settings_->nodes.size(); }

    // Its life.
    void begin();
    void pause(nanos span);
    void resume();
    // Its end, and how long after it another one begins. From one moment to the next, as by a
    // signal:
    void kill(nanos away);
    /// As a program does that does not wait:
    void destroy(nanos away);
    /// As one that lets what is going out go out:
    void close(nanos away);

    /// Nothing of its core may be left then.
    void put_down();

    // What the network and time tell. Held back while the process stands still.
    void on_dialled(link& l);
    /// `proof`: see pipe::chunk.
    void on_bytes(link& l, std::string_view bytes, instant proof);
    void on_closed(link& l);
    void on_written(link& l);
    void on_event(const event& e);

    // What its application does.
    call& acquire(unsigned task, const std::string& resource, const acquire_options& o);
    call& adopt(unsigned task, const std::string& resource, const base::owner_token& owner,
                std::chrono::milliseconds ttl);
    call& extend(unsigned task, core::lease& l, std::chrono::milliseconds ttl,
                 instant believed_until);
    call& release(unsigned task, core::lease& l, instant believed_until);
    call& inspect(unsigned task, const std::string& resource);
    /// `is_kept`: nothing but faults may end it.
    call& wait_lost(unsigned task, core::lease& l, bool is_kept);
    void drop(core::lease& l);
    void let_go(core::lease& l);
    /// Whether its lock has another hold, had or about to be.
    [[nodiscard]] bool is_held_besides(const core::lease& l) const;

    [[nodiscard]] bool is_alive() const noexcept { return core_.is_there(); }
    [[nodiscard]] bool is_paused() const noexcept;
    /// It was told to end, and operations with it; releases not before it waits no longer.
    [[nodiscard]] bool is_ending() const noexcept { return ending_; }
    [[nodiscard]] bool is_broken_off() const noexcept { return broken_off_; }
    [[nodiscard]] unsigned generation() const noexcept { return generation_; }
    [[nodiscard]] instant local_now() const;
    [[nodiscard]] instant true_time(instant local) const { return clock_.when_shows(local); }
    [[nodiscard]] bool has_calls() const noexcept { return !calls_.empty(); }
    [[nodiscard]] application& app() noexcept { return *app_; }
    [[nodiscard]] stats snapshot() const { return core_->snapshot(); }
    [[nodiscard]] const base::settings& settings() const noexcept { return *settings_; }
    [[nodiscard]] instant next_deadline() const noexcept { return core_->next_deadline(); }
    /// When the last bytes came from any node.
    [[nodiscard]] instant heard_last() const noexcept;
    /// When the first node is to be asked whether it lives, if nothing else is asked before.
    [[nodiscard]] instant next_ping() const noexcept;
    /// Bytes that its core has allocated.
    [[nodiscard]] std::int64_t memory() const noexcept { return core_.memory(); }
    [[nodiscard]] bool has_no_records() const noexcept
    {
        return core_->led() == 0 && core_->records_in_use() == 0 && core_->watching() == 0;
    }
    /// Whether one more acquire, adopt or inspect, or extend, may begin: to be asked before it is.
    [[nodiscard]] bool has_room_for(core::operation::kind what) const;

private:
    struct connection {
        link* of = nullptr;
        bool writing = false;
        instant heard{};
        std::string said_last{};  ///< by the node; of a word that came in pieces
        instant greeted{};        ///< when it was given all scripts, or is to be given them anew
    };
    template <class Begin>
    call& start(core::operation::kind what, unsigned task, const std::string& resource,
                nanos deadline, Begin begin);
    template <class What>
    void unless_paused(What what);
    void want_turn();
    void turn();
    void deliver();
    void complete(core::operation& op);
    void note_tokens();
    void note_holds();
    void note_validity();
    void tell_losses();
    void check_order(const call& had) const;
    void check_losses_are_told();
    void flush();
    void write(unsigned node);
    void close_given_up();
    void arm_timer();
    void on_timer();
    void cancel(std::uint64_t serial);
    void disconnect_all();
    void end(nanos away);
    void break_off(nanos away);
    void check_bounds() const;
    [[nodiscard]] std::size_t in_lines(std::string_view resource = {}) const;
    void stop_at_a_verdict();

    world& w_;
    const unsigned index_;
    unsigned generation_ = 0;
    skewed_clock clock_;
    random_source random_;
    std::unique_ptr<seeded_entropy> entropy_;
    /// Right, far ahead, or far behind.
    test::virtual_date date_;
    std::unique_ptr<base::settings> settings_;
    counted_core core_;
    std::unique_ptr<application> app_;
    std::vector<connection> connections_;
    std::list<call> calls_;
    std::uint64_t serials_ = 0;
    instant paused_until_{};
    instant resumed_at_{};
    /// What came while the process stood still, in order; the timer is looked at behind it.
    std::vector<std::function<void()>> held_back_;
    bool timer_held_back_ = false;
    bool turn_wanted_ = false;
    bool ending_ = false;
    bool broken_off_ = false;
    /// Of a close that waits for what goes out.
    struct closing {
        instant began;
        instant by;
        nanos away;
    };
    std::optional<closing> closing_;
    instant armed_for_ = instant::max();
    /// Of the timer that stands; those before it were cancelled.
    std::uint64_t timer_ = 0;
};

}  // namespace redlock::sim
