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

/// What is wrong with its clock, and how far its answers take.
void judge_measures(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// All that is wrong: with each node, and with all of them together. The worst first, else in the
/// order of the nodes.
[[nodiscard]] std::vector<finding> judge(const std::vector<node_facts>& nodes,
                                         const base::settings& s);

/// Whether a client can take a lock there, and give it back.
[[nodiscard]] bool is_usable(const node_facts& f, const base::settings& s);

struct verdict {
    enum class locks : std::uint8_t {
        had,
        had_unsafely,  ///< two clients may hold one
        had_later,     ///< when the restart guard has admitted the nodes
        not_had,
        refused,  ///< no client begins with such a list of nodes
    };

    std::size_t nodes = 0;
    std::size_t quorum = 0;
    std::size_t usable = 0;
    /// Of these, those of which no error is told.
    std::size_t well = 0;
    locks are = locks::not_had;
    /// 0: no finding, or notes only; 1: warnings at worst; 2: errors.
    int exit_status = 0;
    std::string text;
};

[[nodiscard]] const char* to_string(verdict::locks l) noexcept;

[[nodiscard]] verdict conclude(const std::vector<node_facts>& nodes,
                               const std::vector<finding>& findings, const base::settings& s);

}  // namespace redlock::cli
