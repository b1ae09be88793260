#pragma once

#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/random.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::sim {

class world;

/// How a key vanishes that a waiter tracks.
enum class parting : std::uint8_t {
    told,
    told_of_all,  ///< as by FLUSHALL
    untold,
    cut,  ///< the connection for the notification is lost
};

/// The fate of the keys when a node dies.
enum class memory : std::uint8_t {
    kept,
    lost,
    rolled_back,  ///< the keys of the last save are back
};

/// A fault that lasts until the node is healed.
enum class illness : std::uint8_t {
    none,
    down,
    paused,       ///< suspended
    blocked,      ///< executes no writes
    unreachable,  ///< nothing passes to or from it
};

/// A node: its process, its clock and its end of the links.
class server final : public test::model_master::watcher {
public:
    server(world& w, unsigned index);

    // The network.
    void on_link(link& l);
    void on_bytes(link& l, std::string_view bytes);
    void on_end(link& l);

    // Faults.
    void pause(nanos span);
    void block(nanos span);
    void wake();
    void die(nanos away, memory keys);
    /// Whether keys that the node had lost by then may be back.
    [[nodiscard]] bool was_rolled_back_since(instant then) const noexcept
    {
        return rolled_back_at_ != instant{} && rolled_back_at_ >= then;
    }
    void restart();
    void fall_ill(illness how);
    void heal();
    [[nodiscard]] bool is_unreachable() const noexcept { return ill_ == illness::unreachable; }
    /// Saves the keys for a later life.
    void save();
    /// Loses all keys while the node runs. `tells`: clients that track them are notified.
    void lose_keys(bool tells = true);
    /// Brings back the keys of the last save, without a call of `on_change`.
    void roll_back();
    /// Deletes the fencing counters as an operator would.
    void delete_counters();
    /// Increments the fencing counters as if another client took each lock.
    void use_counters();
    [[nodiscard]] bool has_counters() const;
    /// Whether the node had fencing counters and all of them have expired.
    [[nodiscard]] bool has_outlived_its_counters() const;
    /// Sets a key of a stranger, who is no client of the play, or ends it.
    void give_to_stranger(const std::string& key);
    void take_from_stranger(const std::string& key, parting how);
    void step_clock(nanos ahead);
    /// Deletes expired keys, as the node does now and then, and notifies the clients that track
    /// them.
    void look_for_ends();
    /// Sends a notification for a tracked key that did not change. False if no client tracks a key.
    bool tell_for_nothing(random_source& r);
    /// Forgets the scripts. Clients lose or regain the permission for the server's own
    /// compare-and-delete.
    void flush_scripts();

    [[nodiscard]] bool is_up() const noexcept { return up_; }
    [[nodiscard]] bool is_paused() const noexcept;
    /// Whether the marker of the restart guard names this run of the server.
    [[nodiscard]] bool is_admitted() const;
    [[nodiscard]] instant local_now() const;
    /// Its date is far from the dates of the others.
    [[nodiscard]] bool is_out_of_date() const noexcept { return out_of_date_; }
    void set_date(nanos ahead) noexcept { date_error_ += ahead; }
    /// When a key expires in true time, if nothing else happens to it.
    [[nodiscard]] instant true_end(const test::model_master::entry& e) const;

    void on_change(const std::string& key, const test::model_master::entry* before,
                   const test::model_master::entry* after, const test::session* by) override;

    /// The command in execution, if any.
    [[nodiscard]] const test::words* doing() const noexcept { return doing_; }

    test::model_master master;

private:
    /// The counters that have not expired.
    [[nodiscard]] test::words counters() const;
    void serve(link& l);
    void go_down();
    void may_forget();
    void tell();
    void push_to_all();
    void expect_end(instant end);
    void expect_ends();
    void look_in(nanos span);
    [[nodiscard]] static bool is_of_a_lock(const test::words& command);
    void begin_run();
    [[nodiscard]] std::optional<std::string> lie(const test::words& command) const;
    [[nodiscard]] bool holds_up(const test::words& command) const;
    std::string answer(link& l, const test::words& command);

    world& w_;
    const unsigned index_;
    skewed_clock clock_;
    nanos date_error_{};
    bool out_of_date_ = false;
    bool had_counters_ = false;
    bool up_ = true;
    illness ill_ = illness::none;
    memory keys_ = memory::kept;
    instant rolled_back_at_{};
    unsigned runs_ = 0;
    std::uint64_t pushes_ = 0;
    /// When the node next searches for expired keys, and the first expiry that it knows, by its own
    /// clock.
    random_source looks_;
    nanos looks_every_;
    instant looks_at_ = instant::max();
    instant next_end_ = instant::max();
    std::map<std::string, test::model_master::entry, std::less<>> earlier_;
    instant paused_until_{};
    instant blocked_until_{};
    const test::words* doing_ = nullptr;
};

}  // namespace redlock::sim
