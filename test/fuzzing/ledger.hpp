#pragma once

#include "base/instant.hpp"
#include "core/votes.hpp"
#include "sim/model_master.hpp"

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

/// As much of a reply as evidence needs.
enum class answer { ok, one, zero, error, other };

/**
 * What went over the wire, read by itself: who was asked for what, and what was answered in its
 * place. A verdict has to be borne out by it.
 */
class ledger {
public:
    explicit ledger(unsigned nodes) : quorum_(nodes / 2 + 1) {}

    void note_request(unsigned node, const request& r);
    void note_answer(unsigned node, const request& r, answer a);
    /// The node has answered what was not sent yet, so that it may have said anything.
    void distrust(unsigned node) { distrusted_ |= core::bit(node); }

    /// Nodes that may count as having the key: they set it, or extended it.
    [[nodiscard]] core::node_mask granted(std::string_view token) const;
    /// When the first node was asked to set it.
    [[nodiscard]] std::optional<base::instant> asked_at(std::string_view token) const;
    /// Whether a majority extended the key by commands sent since `begun`.
    [[nodiscard]] bool extended(std::string_view token, base::instant begun) const;
    /// How many nodes either answered a release with 1, 0 or an error, or have never been asked to
    /// set the key.
    [[nodiscard]] unsigned without_key(std::string_view token, unsigned nodes) const;
    [[nodiscard]] bool is_majority(core::node_mask nodes) const;
    /// Whether the bytes, or most of them, are those of some owner token.
    [[nodiscard]] bool is_secret(std::string_view digits) const;

    void add_token(std::string_view token) { keys_[std::string(token)]; }

private:
    struct renewal {
        base::instant sent;
        unsigned node;
    };
    struct of_key {
        core::node_mask asked = 0;
        core::node_mask granted = 0;
        core::node_mask released = 0;
        std::optional<base::instant> first;
        std::vector<renewal> renewals;
    };

    [[nodiscard]] const of_key* find(std::string_view token) const;

    std::map<std::string, of_key, std::less<>> keys_;
    core::node_mask distrusted_ = 0;
    unsigned quorum_;
};

}  // namespace redlock::test
