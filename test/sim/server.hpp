#pragma once

#include "sim/clock.hpp"
#include "sim/model_master.hpp"
#include "sim/network.hpp"

#include <string>
#include <string_view>

namespace redlock::sim {

class world;

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
    void die(nanos away, bool loses_keys);
    void restart();
    void step_clock(nanos ahead);
    /// And whoever might delete with a command of the server's own may no more, or may again.
    void flush_scripts();

    [[nodiscard]] bool is_up() const noexcept { return up_; }
    [[nodiscard]] bool is_paused() const noexcept;
    [[nodiscard]] instant local_now() const;
    /// When a key is gone in truth, if nothing else happens to it.
    [[nodiscard]] instant true_end(const test::model_master::entry& e) const;

    void on_change(const std::string& key, const test::model_master::entry* before,
                   const test::model_master::entry* after, const test::session* by) override;

    /// The command that is being done, if any.
    [[nodiscard]] const test::words* doing() const noexcept { return doing_; }

    test::model_master master;

private:
    void serve(link& l);
    [[nodiscard]] static bool is_of_a_lock(const test::words& command);
    [[nodiscard]] bool holds_up(const test::words& command) const;
    std::string answer(link& l, const test::words& command);

    world& w_;
    const unsigned index_;
    skewed_clock clock_;
    bool up_ = true;
    bool loses_keys_ = false;
    instant paused_until_{};
    instant blocked_until_{};
    const test::words* doing_ = nullptr;
};

}  // namespace redlock::sim
