#pragma once

#include "base/instant.hpp"
#include "core/votes.hpp"
#include "support/virtual/model_master.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A command to a node. The ledger stores the node elsewhere.
struct request {
    words command;
    base::instant at;
};

/// The number of locks that a command is about; one if it is about none.
[[nodiscard]] std::size_t locks_of(const words& command);

/// The part of a reply that counts as evidence.
struct answer {
    enum class kind {
        ok,
        taken,  ///< of a script that took several keys
        one,
        zero,
        digits,  ///< of a script for several locks: 1 or 0 for each
        error,
        other,
    };

    kind what = kind::other;
    std::string digits{};
};

struct meaning;

/// The first instant at which a lock asked for at `t0` is no longer valid.
[[nodiscard]] base::instant validity_end(base::instant t0, base::nanos ttl, int drift_percent);

/**
 * A record of the requests to each node and of their answers, read from the wire. Each result of
 * the core must agree with it.
 */
class ledger {
public:
    static constexpr unsigned most_nodes = 7;

    ledger(unsigned nodes, double drift_factor)
        : nodes_(nodes),
          drift_percent_(static_cast<int>(drift_factor * 100))
    {}

    void note_request(unsigned node, const request& r);
    void note_answer(unsigned node, const request& r, const answer& a);
    /// The first owner does not know what the adopting client asks for with the same token. From
    /// here on the sender of an extend is unknown, so no extend counts for the life of keys.
    void note_taken_up_besides(std::string_view token)
    {
        keys_[std::string(token)].taken_up_besides = true;
    }
    /// The node has answered a command before it was sent, so its answers prove nothing.
    void distrust(unsigned node) { distrusted_ |= core::bit(node); }
    /// The early answer may have been a grant or an extend.
    void distrust_grants(unsigned node) { distrusted_grants_ |= core::bit(node); }

    /// Nodes whose answers prove nothing.
    [[nodiscard]] core::node_mask distrusted() const { return distrusted_; }
    [[nodiscard]] core::node_mask distrusted_grants() const { return distrusted_grants_; }

    /// Nodes that answered that they have the key, because they set it or extended it.
    [[nodiscard]] core::node_mask granted(std::string_view token) const;
    /// When the first node was asked to set it.
    [[nodiscard]] std::optional<base::instant> asked_at(std::string_view token) const;

    /// Nodes that answered the SET and cannot have the key any more by the requests of its own
    /// client. Each requested ttl ended more than `patience` and the drift of the clocks before
    /// `now`.
    [[nodiscard]] core::node_mask outlived(std::string_view token, base::instant now,
                                           base::nanos patience) const;

    // Below, `doubtful` are nodes with answers of unknown meaning. Each counts as whatever suits
    // best.

    /// Whether a majority extended the key by commands sent since `begun`.
    [[nodiscard]] bool extended(std::string_view token, base::instant begun,
                                core::node_mask doubtful) const;
    /// Until when a majority backs the key, if each node keeps to its last answer.
    [[nodiscard]] base::instant backed_until(std::string_view token,
                                             core::node_mask doubtful) const;
    /// Whether enough nodes for a majority to lack the key either answered a release or never got a
    /// SET.
    [[nodiscard]] bool is_given_back(std::string_view token, core::node_mask doubtful) const;
    /// The same with nodes that answered an extend or a release as a node without the key would.
    [[nodiscard]] bool is_lost(std::string_view token, core::node_mask doubtful) const;

    [[nodiscard]] bool is_majority(core::node_mask nodes) const;
    /// Whether the bytes, or most of them, belong to an owner token.
    [[nodiscard]] bool is_secret(std::string_view digits) const;

    void add_token(std::string_view token) { keys_[std::string(token)]; }

private:
    /// The answers of one node about one key.
    struct vote {
        base::instant extended = base::instant::min();  ///< when the last such command was sent to
                                                        ///< it
        base::instant backs = base::instant::min();     ///< until when, by its grant or its extends
        base::instant asked_until = base::instant::min();  ///< whether it granted that or not
    };
    struct of_key {
        core::node_mask asked = 0;
        core::node_mask answered = 0;
        core::node_mask granted = 0;
        core::node_mask released = 0;
        core::node_mask missing = 0;
        std::optional<base::instant> first;
        bool taken_up_besides = false;
        std::array<vote, most_nodes> votes;
    };

    void note_answer(unsigned node, base::instant asked, const meaning& m, answer::kind a);
    [[nodiscard]] bool leaves_no_majority(core::node_mask without) const;
    [[nodiscard]] const of_key* find(std::string_view token) const;

    std::map<std::string, of_key, std::less<>> keys_;
    core::node_mask distrusted_ = 0;
    core::node_mask distrusted_grants_ = 0;
    unsigned nodes_;
    int drift_percent_;
};

}  // namespace redlock::test
