#pragma once

#include "core/coordinator.hpp"
#include "input.hpp"
#include "ledger.hpp"
#include "resp/reader.hpp"
#include "sim/model_master.hpp"
#include "sim/token_order.hpp"

#include <redlock/keep_alive.hpp>
#include <redlock/reentrant_owner.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

using base::instant;
using base::nanos;
using namespace std::chrono_literals;

/// No secret of these worlds has this in common with any text that a node thinks of by itself.
inline constexpr std::string_view node_password = "hunter2#";

/// An owner token that no lock ever has.
inline constexpr std::string_view nobodys_token = "00000000000000000000000000000000000000ff";

/// The other end of a node's connection.
struct peer {
    /// What it does without being told.
    enum class habit : std::uint8_t { nothing, greets, answers };

    habit does = habit::nothing;
    model_master master;
    session speaks;
    bool dialled = false;
    bool connected = false;
    /// Takes long to take bytes: what was written last is still under way.
    bool slow = false;
    bool writing = false;
    /// On this connection it was slow, or said what no master says.
    bool odd = false;
    /// On this connection it has answered a look at the restart guard's marker.
    bool has_told_marker = false;
    instant dialled_at{};
    /// What it was asked and has not answered; the first `served` of them were executed.
    std::deque<request> asked;
    std::size_t served = 0;
    /// What it answered before it was asked.
    std::deque<answer> early;
    /// Asked on connections that are gone, and not executed yet.
    std::deque<words> strays;
    /// Of these the first ones, behind whose connection something of a later one was executed.
    std::size_t overtaken = 0;
    /// The rest of a reply that was given in part.
    std::string held_back;
    /// Cuts what it says into replies.
    std::unique_ptr<resp::reader> cutter;

    /// The first request that was not executed yet; its answer.
    std::string execute_next(instant now)
    {
        overtaken = strays.size();
        return master.execute(now, speaks, asked[served++].command);
    }

    /// Whether it may have granted or extended what it was not seen to be asked for.
    [[nodiscard]] bool may_have_granted() const
    {
        return std::any_of(early.begin(), early.end(), [](answer a) {
            return a == answer::ok || a == answer::taken || a == answer::one;
        });
    }
    /// The same of anything that says whether it has a key.
    [[nodiscard]] bool may_have_decided() const
    {
        return std::any_of(early.begin(), early.end(), [](answer a) { return a != answer::other; });
    }
};

/// The resources of one lock.
using names = std::vector<std::string>;

/// On whose behalf a lock is taken.
enum class whose : std::uint8_t { nobodys, ones, anothers };

/// An operation as its caller sees it.
struct caller {
    core::operation* op = nullptr;
    core::operation::kind what = core::operation::kind::acquire;
    unsigned completions = 0;
    std::string token;
    /// What it speaks of, if that is a lock that is held: only to be told from others.
    const core::lease* lock = nullptr;
    /// The caller's own hold of that.
    const core::lease* hold = nullptr;
    nanos ttl{};
    instant begun{};
    /// Among all that was begun or told.
    std::uint64_t place = 0;
    /// By when it has completed, if the core is told the time. Of who waits for a loss: the end
    /// of the validity as it was known last.
    instant due{};
    // Of an acquire.
    names resources;
    whose owner = whose::nobodys;
    bool fencing = false;
    std::optional<redlock::keep_alive> keeps;
    /// Of a release: its lock is held besides, or was handed over.
    bool is_nested = false;
    bool is_left = false;
    redlock::report report;

    [[nodiscard]] bool done() const { return completions > 0; }
};

/**
 * A coordinator with everything round it, all of it told what to do by a target: time, connections,
 * nodes, callers. Whatever it is told, it checks after each step what has to hold.
 */
class world {
public:
    world(redlock::config c, unsigned nodes, std::uint8_t seed);
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void start();

    // Callers. A choice among none does nothing; so does beginning anything on a closed client.
    void acquire(const names& resources, acquire_options o, whose owner = whose::nobodys);
    void adopt(const names& resources, std::string_view token, std::chrono::milliseconds ttl);
    /// A lock that was handed over, as it was; once each.
    void adopt_again(std::size_t which, std::chrono::milliseconds ttl);
    void extend(std::size_t held, std::chrono::milliseconds ttl);
    void release(std::size_t held);
    void drop(std::size_t held);
    void hand_over(std::size_t held);
    void wait_lost(std::size_t held);
    void inspect(std::string_view resource);
    /// The `nth` of those that are under way.
    void cancel(std::size_t nth);
    void close();
    void stop();

    // Nodes.
    void connect(unsigned node);
    void hang_up(unsigned node);
    /// Any bytes, as a whole.
    void say(unsigned node, std::string_view bytes);
    /// What the first request that was not executed yet is answered with; of it the first `bytes`.
    void answer_right(unsigned node, std::size_t bytes);
    /// Executed or not, and answered with this.
    void answer_with(unsigned node, bool executed, std::string_view reply);
    /// An error that repeats what was asked.
    void answer_with_echo(unsigned node);
    void say_rest(unsigned node);
    /// What nobody asked for, where that is allowed.
    void push(unsigned node);
    void execute_stray(unsigned node);
    void take_written(unsigned node);
    /// Loses all keys, which the restart guard is there for.
    void flush(unsigned node);
    /// Another run of the server, with the keys of the last one or without.
    void restart(unsigned node, bool keeps_keys);
    /// All nodes have been admitted by somebody else.
    void admit_all();

    // Time. `advance` passes every instant at which something is due, `jump` none between, and
    // `let_pass` does not even tell the core.
    void advance(nanos span);
    void jump(nanos span);
    void let_pass(nanos span);

    /// All nodes work again: they are found, and given what they are owed.
    void heal();
    /// The client ends: so does everything it began.
    void end();

    [[nodiscard]] peer& at(unsigned node) { return *peers_[node]; }
    [[nodiscard]] unsigned nodes() const { return static_cast<unsigned>(peers_.size()); }
    /// The token of a held lease, or one that nobody has.
    [[nodiscard]] std::string token_of(std::size_t held) const;

    bool with_reports = false;
    /// A node did what no master does, or a lock has two holders by a caller's wish.
    bool lied = false;
    bool no_entropy = false;

private:
    /// Bytes that a seed repeats.
    class repeated_entropy final : public base::entropy {
    public:
        repeated_entropy(std::uint8_t seed, const bool& broken) : state_(seed), broken_(broken) {}
        [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override;

    private:
        std::uint64_t state_;
        const bool& broken_;
    };

    [[nodiscard]] redlock::config completed(redlock::config c, unsigned nodes);
    template <class Begin>
    void begin(caller as, nanos patience, Begin begin);
    void begin_adopt(const names& resources, std::string_view token, std::chrono::milliseconds ttl);
    [[nodiscard]] core::lease* take_held(std::size_t which);
    [[nodiscard]] bool is_held_besides(const core::lease& l) const;
    void accept(unsigned node);
    void deliver(unsigned node, std::string_view bytes);
    void collect(unsigned node);
    void match(unsigned node);
    void forget_connection(unsigned node);
    [[nodiscard]] bool serve(unsigned node);
    void check_given_up(const peer& p) const;
    void settle();
    void set_clock(instant to);
    void tick();
    void take_finished();
    void note_validity();
    void tell_losses();
    void check_losses_are_told() const;
    void conclude(caller& c, core::operation& op);
    void conclude_acquire(const caller& c, const core::lease& l);
    void conclude_adopt(const caller& c, const core::lease& l);
    void conclude_hold(const caller& c, const core::lease& l) const;
    void conclude_extend(const caller& c);
    void conclude_release(const caller& c, release_result said) const;
    void check_loss(const caller& c, error_code why) const;
    void check_token(const caller& c, const core::lease& l);
    void check_report(const caller& c, const core::operation& op);
    void check_inspection(const redlock::inspection& found) const;
    void check();
    void check_stats();
    void check_given_back();
    void check_held();
    void check_text(std::string_view text) const;
    [[nodiscard]] std::size_t further_holds() const;
    [[nodiscard]] instant validity_end(instant t0, nanos ttl) const;
    [[nodiscard]] core::node_mask nodes_that(bool (peer::*may)() const) const;
    /// Nodes whose answers cannot be told: they may have said what suits best.
    [[nodiscard]] core::node_mask doubtful() const
    {
        return ledger_.distrusted() | nodes_that(&peer::may_have_decided);
    }
    /// Those of them that may have granted or extended.
    [[nodiscard]] core::node_mask doubtful_grants() const
    {
        return ledger_.distrusted_grants() | nodes_that(&peer::may_have_granted);
    }
    [[nodiscard]] core::node_mask may_have_granted(std::string_view token) const
    {
        return ledger_.granted(token) | doubtful_grants();
    }

    redlock::config config_;
    base::settings settings_;
    repeated_entropy entropy_;
    instant now_{instant{} + 1000s};
    test::virtual_date date_{now_};
    std::vector<std::unique_ptr<peer>> peers_;
    ledger ledger_;
    core::coordinator core_;
    std::deque<caller> callers_;
    std::vector<core::lease*> held_;
    struct handed_over {
        names resources;
        std::string token;
    };
    std::vector<handed_over> handed_over_;
    /// Of all that ever were.
    std::set<std::string, std::less<>> left_;
    const std::array<redlock::reentrant_owner, 2> owners_;
    /// By token; of locks that have one.
    std::map<std::string, whose, std::less<>> owner_of_;
    /// Until when a lease may be believed in at most, by token, where no renewal moves it.
    std::map<std::string, instant, std::less<>> believed_until_;
    /// As it was seen last.
    std::map<const core::lease*, instant> known_until_;
    sim::token_order fencing_tokens_;
    std::uint64_t places_ = 0;
    std::uint64_t runs_ = 0;
    bool started_ = false;
    bool closed_ = false;
    bool stopped_ = false;
    /// A lock was handed over, or a lost connection's command executed behind a later one's.
    bool may_leave_keys_ = false;
};

}  // namespace redlock::test
