#pragma once

#include "core/client_core.hpp"
#include "input.hpp"
#include "ledger.hpp"
#include "resp/reader.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/token_order.hpp"

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

/// Secrets of these worlds share no part with any text of the nodes.
inline constexpr std::string_view node_password = "hunter2#";

/// An owner token that no lock ever has.
inline constexpr std::string_view nobodys_token = "00000000000000000000000000000000000000ff";

/// The other end of a node's connection.
struct peer {
    /// Its behaviour when the target gives no command.
    enum class habit : std::uint8_t { nothing, greets, answers };

    habit does = habit::nothing;
    model_master master;
    session speaks;
    bool dialled = false;
    bool connected = false;
    /// Takes bytes slowly: the last write is unfinished.
    bool slow = false;
    bool writing = false;
    /// On this connection it was slow, or answered as no node does.
    bool odd = false;
    /// On this connection it has answered a query of the restart guard's marker.
    bool has_told_marker = false;
    instant dialled_at{};
    /// Unanswered requests. The first `served` of them were executed.
    std::deque<request> asked;
    std::size_t served = 0;
    /// Its answers before the request.
    std::deque<answer> early;
    /// Requests of lost connections that are not executed yet.
    std::deque<words> strays;
    /// The first of these, after which a command of a later connection was executed.
    std::size_t overtaken = 0;
    /// The rest of a reply that was sent in part.
    std::string held_back;
    /// Cuts its bytes into replies.
    std::unique_ptr<resp::reader> cutter;

    /// Executes the first pending request and returns the answer.
    std::string execute_next(instant now)
    {
        overtaken = strays.size();
        return master.execute(now, speaks, asked[served++].command);
    }

    /// Whether an early answer may have been a grant or an extend.
    [[nodiscard]] bool may_have_granted() const
    {
        return std::any_of(early.begin(), early.end(), [](const answer& a) {
            using kind = answer::kind;
            return a.what == kind::ok || a.what == kind::taken || a.what == kind::one ||
                   a.what == kind::digits;
        });
    }
    /// The same for any answer that says whether it has a key.
    [[nodiscard]] bool may_have_decided() const
    {
        return std::any_of(early.begin(), early.end(),
                           [](const answer& a) { return a.what != answer::kind::other; });
    }
};

/// The resources of one lock.
using names = std::vector<std::string>;

/// The reentrant owner of a lock.
enum class whose : std::uint8_t { nobodys, ones, anothers };

/// An operation from its caller's view.
struct caller {
    core::operation* op = nullptr;
    core::operation::kind what = core::operation::kind::acquire;
    unsigned completions = 0;
    std::string token;
    /// The held lock of the operation, if any. Only for comparison.
    const core::lease* lock = nullptr;
    /// The caller's own hold of that lock.
    const core::lease* hold = nullptr;
    nanos ttl{};
    instant begun{};
    /// Its position among all beginnings and results.
    std::uint64_t place = 0;
    /// The latest completion, if the core knows the time. For a wait for a loss: the last known
    /// end of the validity.
    instant due{};
    // For an acquire.
    names resources;
    whose owner = whose::nobodys;
    bool fencing = false;
    std::optional<redlock::keep_alive> keeps;
    /// For a release: its lock has other holds, or was detached.
    bool is_nested = false;
    bool is_left = false;
    redlock::report report;

    [[nodiscard]] bool done() const { return completions > 0; }
};

/**
 * A core with its environment: time, connections, nodes and callers. A target decides what
 * they do. The world checks its rules after each step.
 */
class world {
public:
    world(redlock::config c, unsigned nodes, std::uint8_t seed);
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void start();

    // Callers. A choice among none does nothing, and so does any call on a closed client.
    void acquire(const names& resources, acquire_options o, whose owner = whose::nobodys);
    void adopt(const names& resources, std::string_view token, std::chrono::milliseconds ttl);
    /// Adopts a detached lock as it was. Each once.
    void adopt_again(std::size_t which, std::chrono::milliseconds ttl);
    void extend(std::size_t held, std::chrono::milliseconds ttl);
    void release(std::size_t held);
    void drop(std::size_t held);
    void hand_over(std::size_t held);
    void wait_lost(std::size_t held);
    void inspect(std::string_view resource);
    /// Cancels the `nth` pending operation.
    void cancel(std::size_t nth);
    void close();
    void stop();

    // Nodes.
    void connect(unsigned node);
    void hang_up(unsigned node);
    /// Any bytes, as one chunk.
    void say(unsigned node, std::string_view bytes);
    /// Answers the first pending request correctly, with the first `bytes` of the answer.
    void answer_right(unsigned node, std::size_t bytes);
    /// Executes the request or not, and gives this answer.
    void answer_with(unsigned node, bool executed, std::string_view reply);
    /// An error that repeats the request.
    void answer_with_echo(unsigned node);
    void say_rest(unsigned node);
    /// An answer without a request, where that is allowed.
    void push(unsigned node);
    void execute_stray(unsigned node);
    void take_written(unsigned node);
    /// Loses all keys. The restart guard must notice.
    void flush(unsigned node);
    /// Starts another run of the server, with the keys of the last one or without.
    void restart(unsigned node, bool keeps_keys);
    /// Another client has admitted all nodes.
    void admit_all();

    // Time. `advance` passes every instant at which something is due, `jump` passes none in
    // between, and `let_pass` does not even inform the core.
    void advance(nanos span);
    void jump(nanos span);
    void let_pass(nanos span);

    /// Makes all nodes work again. The client reconnects and sends its pending releases.
    void heal();
    /// Ends the client and all its operations.
    void end();

    [[nodiscard]] peer& at(unsigned node) { return *peers_[node]; }
    [[nodiscard]] unsigned nodes() const { return static_cast<unsigned>(peers_.size()); }
    /// The token of a held lease, or one that no lock has.
    [[nodiscard]] std::string token_of(std::size_t held) const;

    bool with_reports = false;
    /// A node behaved as no node does, or a caller gave a lock two holders.
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
    /// Nodes with answers of unknown meaning. They may have answered whatever suits best.
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
    core::client_core core_;
    std::deque<caller> callers_;
    std::vector<core::lease*> held_;
    struct handed_over {
        names resources;
        std::string token;
    };
    std::vector<handed_over> handed_over_;
    /// Tokens of all detached locks.
    std::set<std::string, std::less<>> left_;
    const std::array<redlock::reentrant_owner, 2> owners_;
    /// The reentrant owner by token, for locks that have one.
    std::map<std::string, whose, std::less<>> owner_of_;
    /// By token: the latest validity of a lease that no renewal moves.
    std::map<std::string, instant, std::less<>> believed_until_;
    /// The validity when it was last read.
    std::map<const core::lease*, instant> known_until_;
    token_order fencing_tokens_;
    std::uint64_t places_ = 0;
    std::uint64_t runs_ = 0;
    bool started_ = false;
    bool closed_ = false;
    bool stopped_ = false;
    /// A lock was detached, or a command of a lost connection was executed after one of a later
    /// connection.
    bool may_leave_keys_ = false;
};

}  // namespace redlock::test
