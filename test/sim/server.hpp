#pragma once

#include "sim/clock.hpp"
#include "sim/model_master.hpp"
#include "sim/network.hpp"
#include "sim/random.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::sim {

class world;

/// How a key goes that somebody waits for who is to be told.
enum class parting : std::uint8_t {
    told,
    told_of_all,  ///< as by FLUSHALL
    untold,
    cut,  ///< the connection is lost by which it would be told
};

/// What becomes of the keys when a node dies.
enum class memory : std::uint8_t {
    kept,
    lost,
    rolled_back,  ///< those it had when it was last saved are there again
};

/// What ails a node until it is healed, and not for a while.
enum class illness : std::uint8_t {
    none,
    down,
    paused,       ///< it stands still
    blocked,      ///< it does nothing that writes
    unreachable,  ///< nothing gets through to it or from it
};

/// A master: its process, its clock, its end of the links.
class server final : public test::model_master::watcher {
public:
    server(world& w, unsigned index);

    // The network.
    void on_link(link& l);
    void on_bytes(link& l, std::string_view bytes);
    void on_end(link& l);

    // What befalls it.
    void pause(nanos span);
    void block(nanos span);
    void wake();
    void die(nanos away, memory keys);
    /// Keys that it had lost by then may be there again.
    [[nodiscard]] bool was_rolled_back_since(instant then) const noexcept
    {
        return rolled_back_at_ != instant{} && rolled_back_at_ >= then;
    }
    void restart();
    void fall_ill(illness how);
    void heal();
    [[nodiscard]] bool is_unreachable() const noexcept { return ill_ == illness::unreachable; }
    /// For a later life.
    void save();
    /// While it lives; `tells`: and those who track them are told.
    void lose_keys(bool tells = true);
    /// Those it had when it was last saved are there again. Nobody looks on.
    void roll_back();
    /// By somebody's hand.
    void delete_counters();
    /// As another client does who takes each lock.
    void use_counters();
    [[nodiscard]] bool has_counters() const;
    /// It had fencing counters, and all are over.
    [[nodiscard]] bool has_outlived_its_counters() const;
    /// A key of somebody who is no client of the play, and its end.
    void give_to_stranger(const std::string& key);
    void take_from_stranger(const std::string& key, parting how);
    void step_clock(nanos ahead);
    /// Looks for keys that are over, as it does now and then, and tells those who track them.
    void look_for_ends();
    /// Tells of a key that somebody tracks, though nothing happened to it; false: nobody does.
    bool tell_for_nothing(random_source& r);
    /// And whoever might delete with a command of the server's own may no more, or may again.
    void flush_scripts();

    [[nodiscard]] bool is_up() const noexcept { return up_; }
    [[nodiscard]] bool is_paused() const noexcept;
    /// The restart guard's marker names this run of it.
    [[nodiscard]] bool is_admitted() const;
    [[nodiscard]] instant local_now() const;
    /// Its date is far from that of the others.
    [[nodiscard]] bool is_out_of_date() const noexcept { return out_of_date_; }
    void set_date(nanos ahead) noexcept { date_error_ += ahead; }
    /// When a key is gone in truth, if nothing else happens to it.
    [[nodiscard]] instant true_end(const test::model_master::entry& e) const;

    void on_change(const std::string& key, const test::model_master::entry* before,
                   const test::model_master::entry* after, const test::session* by) override;

    /// The command that is being done, if any.
    [[nodiscard]] const test::words* doing() const noexcept { return doing_; }

    test::model_master master;

private:
    /// Those that are not over.
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
    /// When it looks for ends next, and the first that it knows of, by its own clock.
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
