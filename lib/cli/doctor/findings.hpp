#pragma once

#include "base/settings.hpp"
#include "cli/doctor/facts.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::cli {

enum class severity : std::uint8_t { note, warning, error };

[[nodiscard]] const char* to_string(severity s) noexcept;

/// Something to know, or to put right.
struct finding {
    severity weight = severity::note;
    /// Its URL without user and password; empty: it is about all of them together.
    std::string node;
    /// One word that stays the same for programs to look for.
    std::string code;
    /// What is wrong, and what to do about it: a sentence or two each, the first going on from the
    /// node's name.
    std::string text;
    std::string advice;
    /// Two clients may hold one lock because of it.
    bool breaks_exclusion = false;
};

/// What is wrong with one node, as far as it can be told from that node alone.
void judge_node(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// Which commands that are needed, or help, its user may not use or the server does not have.
void judge_permissions(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// What is wrong with its clock, and how long its answers take.
void judge_measures(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// What is wrong with the nodes' clocks when they are compared with each other.
void judge_clocks(const std::vector<node_facts>& nodes, const base::settings& s,
                  std::vector<finding>& out);

/// All that is wrong: with each node, and with all of them together. The worst first, else in the
/// order of the nodes.
[[nodiscard]] std::vector<finding> judge(const std::vector<node_facts>& nodes,
                                         const base::settings& s);

/// Whether a client can take locks there, with fencing tokens where they are wanted.
[[nodiscard]] bool is_usable(const node_facts& f, const base::settings& s);
[[nodiscard]] bool is_usable_without_tokens(const node_facts& f, const base::settings& s);

/// Whether a lock of one resource that was taken there can be given back before its ttl has passed.
[[nodiscard]] bool gives_back(const node_facts& f) noexcept;

/// Whether a lock that was taken there can be renewed.
[[nodiscard]] bool renews(const node_facts& f) noexcept;

/// Whether commands that are not permitted are why clients do not use it, as `judge_permissions`
/// says by their names.
[[nodiscard]] bool is_unusable_without_commands(const node_facts& f) noexcept;

struct verdict {
    enum class locks : std::uint8_t {
        available,
        available_unsafely,  ///< two clients may hold one
        available_later,     ///< when the restart guard has admitted the nodes
        /// No majority renews them: a holder loses each when its ttl has passed.
        available_without_renewal,
        available_until_ttl,  ///< no majority gives them back before that has passed
        unavailable,
        refused,  ///< no client begins with such a list of nodes
    };

    std::size_t nodes = 0;
    std::size_t quorum = 0;
    std::size_t usable = 0;
    /// Of these, those of which no error is told.
    std::size_t well = 0;
    locks are = locks::unavailable;
    /// 0: no finding, or notes only; 1: warnings at worst; 2: errors.
    int exit_status = 0;
    std::string text;
};

[[nodiscard]] const char* to_string(verdict::locks l) noexcept;

[[nodiscard]] verdict conclude(const std::vector<node_facts>& nodes,
                               const std::vector<finding>& findings, const base::settings& s);

}  // namespace redlock::cli
