#pragma once

#include "base/settings.hpp"
#include "sim/application.hpp"
#include "sim/call.hpp"
#include "sim/clock.hpp"
#include "sim/core_memory.hpp"
#include "sim/network.hpp"
#include "support/virtual/random.hpp"

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

/**
 * One process with one client. It runs the core that ships and does the engine's work in the same
 * order: bytes before timers, completions and one flush for each connection in a separate turn.
 */
class client {
public:
    client(world& w, unsigned index);
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// How many nodes the client was given.
    [[nodiscard]] std::size_t nodes() const noexcept { return settings_->nodes.size(); }

    // Life of the client.
    void begin();
    void pause(nanos span);
    void resume();
    // Ends of the client. `away` is the time until the next one begins. `kill` is abrupt, like a
    // signal.
    void kill(nanos away);
    /// Destroys the client without waiting.
    void destroy(nanos away);
    /// Closes the client and lets pending output go out.
    void close(nanos away);

    /// Destroys the core and checks that no memory is left.
    void put_down();

    // Events from the network and the clock. They are held back while the process is suspended.
    void on_dialled(link& l);
    /// `proof`: see pipe::chunk.
    void on_bytes(link& l, std::string_view bytes, instant proof);
    void on_closed(link& l);
    void on_written(link& l);
    void on_event(const event& e);

    // Calls of the application.
    call& acquire(unsigned task, const std::string& resource, const acquire_options& o);
    call& adopt(unsigned task, const std::string& resource, const base::owner_token& owner,
                std::chrono::milliseconds ttl);
    call& extend(unsigned task, core::lease& l, std::chrono::milliseconds ttl,
                 instant believed_until);
    call& release(unsigned task, core::lease& l, instant believed_until);
    call& inspect(unsigned task, const std::string& resource);
    /// `is_kept`: only faults may end it.
    call& wait_lost(unsigned task, core::lease& l, bool is_kept);
    void drop(core::lease& l);
    void let_go(core::lease& l);
    /// Whether another hold of its lock exists or is about to.
    [[nodiscard]] bool is_held_besides(const core::lease& l) const;

    [[nodiscard]] bool is_alive() const noexcept { return core_.is_there(); }
    [[nodiscard]] bool is_paused() const noexcept;
    /// The client closes or is being destroyed, so operations end as closed. Releases do so only
    /// once it stops waiting.
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
    /// When the client must send its first ping, unless it sends something else before.
    [[nodiscard]] instant next_ping() const noexcept;
    /// Bytes that its core has allocated.
    [[nodiscard]] std::int64_t memory() const noexcept { return core_.memory(); }
    [[nodiscard]] bool has_no_records() const noexcept
    {
        return core_->waiters().resources() == 0 && core_->records_in_use() == 0 &&
               core_->fair_queue().size() == 0;
    }
    /// Whether one more acquire, adopt, inspect or extend may begin. Callers must ask before they
    /// begin one.
    [[nodiscard]] bool has_room_for(core::operation::kind what) const;

private:
    struct connection {
        link* of = nullptr;
        bool writing = false;
        instant heard{};
        std::string said_last{};  ///< the end of the last reply of the node, which may come in
                                  ///< pieces
        instant greeted{};        ///< when the node got all scripts, or must get them again
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
    /// Right, far too early or far too late.
    test::virtual_date date_;
    std::unique_ptr<base::settings> settings_;
    counted_core core_;
    std::unique_ptr<application> app_;
    std::vector<connection> connections_;
    std::list<call> calls_;
    std::uint64_t serials_ = 0;
    instant paused_until_{};
    instant resumed_at_{};
    /// Events of the time while the process was suspended, in order. The timer comes last.
    std::vector<std::function<void()>> held_back_;
    bool timer_held_back_ = false;
    bool turn_wanted_ = false;
    bool ending_ = false;
    bool broken_off_ = false;
    /// A close that waits for output.
    struct closing {
        instant began;
        instant by;
        nanos away;
    };
    std::optional<closing> closing_;
    instant armed_for_ = instant::max();
    /// Identifies the current timer. Earlier ones were cancelled.
    std::uint64_t timer_ = 0;
};

}  // namespace redlock::sim
