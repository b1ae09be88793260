#pragma once

#include "base/instant.hpp"
#include "base/wall_clock.hpp"
#include "core/list.hpp"
#include "core/node/command.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/node.hpp"
#include "core/pool.hpp"
#include "core/round.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::core {

/// Receives verdicts.
class round_listener {
public:
    /// The operation that waits for the verdict can go on.
    virtual void on_decided(operation& waiter) noexcept = 0;

protected:
    ~round_listener() = default;
};

/// The arguments of a new round.
struct round_request {
    round_kind what;
    lease& of;
    base::nanos ttl{};           ///< the ttl that an extend asks for
    bool wants_details = false;  ///< keeps the answer of each node
    bool asks_ttl = false;
    bool asks_label = false;
    bool every_node = false;
};

/// The rounds of a client: each is one command to all nodes with their votes, until the last node
/// has answered or its connection was lost.
class rounds final : public round_events {
public:
    /// All arguments must outlive the object.
    rounds(node_context& shared, const node_list& nodes, base::wall_clock& date,
           round_listener& listener);

    /// Begins a round without sending anything. The caller has a reference. May throw
    /// `std::bad_alloc`.
    [[nodiscard]] round& begin(const round_request& request);
    /// Asks all nodes, as far as they can be asked.
    void fan_out(round& r);
    /// The verdict of the votes that have come.
    [[nodiscard]] verdict outcome_of(const round& r) const noexcept
    {
        return is_attempt(r.what) ? r.tally.of_acquire() : outcome_of_other(r);
    }

    /// From here on, the votes of the attempt come with fencing counters.
    void count_votes(round& attempt);
    /// Whether a majority holds the keys and has not voted for one value, but still may.
    [[nodiscard]] bool can_be_aligned(const round& attempt) const noexcept;
    /// Begins the alignment of an attempt's counters, after `tries` others.
    [[nodiscard]] round& begin_alignment(round& attempt, unsigned tries);

    [[nodiscard]] base::instant next_deadline() const noexcept;
    /// Ends the rounds whose deadline has passed.
    void on_time() noexcept;

    // Reports of nodes.
    void on_vote(round& r, unsigned index, node_outcome outcome,
                 std::string_view error) noexcept override;
    void on_counter(round& r, unsigned index, const counter_answer& answer) override;
    /// Asks the node in the rounds that have waited for it.
    void on_ready(unsigned index);
    /// The node will not be ready soon, so no round waits for it any longer.
    void on_gone(unsigned index) noexcept;

    /// Takes back a round without references.
    void take_back(round& r) noexcept;
    [[nodiscard]] std::size_t records_in_use() const noexcept
    {
        return records_.in_use() + details_.in_use() + fencings_.in_use();
    }

private:
    void reset(round& r, round_kind what, lease& of) noexcept;
    void ask(round& r, unsigned index, encoded_row& same);
    void send(round& r, unsigned index, encoded_row& same);
    [[nodiscard]] verdict outcome_of_other(const round& r) const noexcept;
    void expire(round& r) noexcept;
    void consider(round& r) noexcept;
    inline void set_vote(round& r, unsigned index, node_outcome outcome,
                         std::string_view error) noexcept;
    void explain(round& r, unsigned index, std::string_view why) noexcept;

    // Alignment.
    [[nodiscard]] std::optional<std::int64_t> next_target(const round& attempt,
                                                          unsigned tries) const noexcept;
    void ask_to_align(round& r, unsigned index);
    [[nodiscard]] verdict outcome_of_alignment(const round& r) const noexcept;
    void on_counted(round& attempt, unsigned index, std::int64_t value);
    void on_aligned(round& r, unsigned index, std::int64_t value) noexcept;
    void on_found(round& r, unsigned index, std::int64_t value) noexcept;
    void on_unknown(round& r, unsigned index, std::string_view why) noexcept;
    void on_unusable(round& r, unsigned index, std::string_view why) noexcept;
    void after_answer(round& r, unsigned index, node_outcome outcome) noexcept;

    node_context& shared_;
    const base::settings& settings_;
    const node_list& nodes_;
    base::wall_clock& date_;
    round_listener& listener_;
    /// The reason that a report gives for a node that has timed out.
    const std::string not_in_time_;
    pool<round> records_;
    list<round, in_deadline_order> by_deadline_;  // destroyed before its elements
    pool<round_details> details_;
    pool<fencing_votes> fencings_;
};

}  // namespace redlock::core
