#pragma once

#include "base/instant.hpp"
#include "core/votes.hpp"
#include "sim/model_master.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// What was sent, to which node it went apart.
struct request {
    words command;
    base::instant at;
};

/// As much of a reply as evidence needs. `taken` is what a script says that took several keys.
enum class answer { ok, taken, one, zero, error, other };

/// The first instant at which a lock asked for at `t0` is no longer valid.
[[nodiscard]] base::instant validity_end(base::instant t0, base::nanos ttl, int drift_percent);

/**
 * What went over the wire, read by itself: who was asked for what, and what was answered in its
 * place. A verdict has to be borne out by it.
 */
class ledger {
public:
    static constexpr unsigned most_nodes = 7;

    ledger(unsigned nodes, double drift_factor)
        : nodes_(nodes),
          drift_percent_(static_cast<int>(drift_factor * 100))
    {}

    void note_request(unsigned node, const request& r);
    void note_answer(unsigned node, const request& r, answer a);
    /// Whoever has it from an acquire knows nothing of what another asks for by the same token.
    /// From here on nobody can tell who sent an extend, and none counts for how long keys may live.
    void note_taken_up_besides(std::string_view token)
    {
        keys_[std::string(token)].taken_up_besides = true;
    }
    /// The node has answered what was not sent yet, so that it may have said anything.
    void distrust(unsigned node) { distrusted_ |= core::bit(node); }
    /// That may have been a grant or an extend.
    void distrust_grants(unsigned node) { distrusted_grants_ |= core::bit(node); }

    /// Nodes that may have said anything at any time.
    [[nodiscard]] core::node_mask distrusted() const { return distrusted_; }
    [[nodiscard]] core::node_mask distrusted_grants() const { return distrusted_grants_; }

    /// Nodes that said that they have the key: they set it, or extended it.
    [[nodiscard]] core::node_mask granted(std::string_view token) const;
    /// When the first node was asked to set it.
    [[nodiscard]] std::optional<base::instant> asked_at(std::string_view token) const;

    /// Nodes that answered the SET, and can have the key no more by what its own client asked for:
    /// all of that ended longer than `patience`, and the drift of the clocks, before `now`.
    [[nodiscard]] core::node_mask outlived(std::string_view token, base::instant now,
                                           base::nanos patience) const;

    // Of what follows `doubtful` are nodes that may have answered what nobody has seen: each is
    // counted as whatever suits best.

    /// Whether a majority extended the key by commands sent since `begun`.
    [[nodiscard]] bool extended(std::string_view token, base::instant begun,
                                core::node_mask doubtful) const;
    /// Until when a majority backs the key, if each node holds to what it said last.
    [[nodiscard]] base::instant backed_until(std::string_view token,
                                             core::node_mask doubtful) const;
    /// Whether as many nodes as it takes, for no majority to have the key, either answered a
    /// release, or have never been asked to set it.
    [[nodiscard]] bool is_given_back(std::string_view token, core::node_mask doubtful) const;
    /// The same of nodes that answered an extend or a release as who does not have the key may.
    [[nodiscard]] bool is_lost(std::string_view token, core::node_mask doubtful) const;

    [[nodiscard]] bool is_majority(core::node_mask nodes) const;
    /// Whether the bytes, or most of them, are those of some owner token.
    [[nodiscard]] bool is_secret(std::string_view digits) const;

    void add_token(std::string_view token) { keys_[std::string(token)]; }

private:
    /// What one node said of one key.
    struct vote {
        base::instant extended = base::instant::min();  ///< when it was sent the last such command
        base::instant backs = base::instant::min();     ///< by its grant or its extends
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

    [[nodiscard]] bool leaves_no_majority(core::node_mask without) const;
    [[nodiscard]] const of_key* find(std::string_view token) const;

    std::map<std::string, of_key, std::less<>> keys_;
    core::node_mask distrusted_ = 0;
    core::node_mask distrusted_grants_ = 0;
    unsigned nodes_;
    int drift_percent_;
};

}  // namespace redlock::test
