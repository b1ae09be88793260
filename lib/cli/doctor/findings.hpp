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

/// Something that the user should know or correct.
struct finding {
    severity weight = severity::note;
    /// The node's URL without user and password. Empty if the finding is about all nodes together.
    std::string node;
    /// A word that identifies the kind of finding. It never changes, so that programs can search
    /// for it.
    std::string code;
    /// The problem and the remedy, one or two sentences each. The first sentence of `text`
    /// continues after the node's name.
    std::string text;
    std::string advice;
    /// Because of it, two clients may hold one lock.
    bool breaks_exclusion = false;
};

/// Finds problems of one node that show without a comparison with other nodes.
void judge_node(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// Finds needed or useful commands that the user isn't permitted to run or the server doesn't have.
void judge_permissions(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// Finds out why clients that wait for a lock form no queue at the node.
void judge_queue(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// Finds problems with the node's clock and with the time its answers take.
void judge_measures(const node_facts& f, const base::settings& s, std::vector<finding>& out);

/// Finds problems that a comparison of the nodes' clocks shows.
void judge_clocks(const std::vector<node_facts>& nodes, const base::settings& s,
                  std::vector<finding>& out);

/// Finds all problems, of each node and of all nodes together. The worst come first; findings of
/// the same severity are in the order of the nodes.
[[nodiscard]] std::vector<finding> judge(const std::vector<node_facts>& nodes,
                                         const base::settings& s);

/// Whether a client can take locks on the node, with fencing tokens if the settings ask for them.
[[nodiscard]] bool is_usable(const node_facts& f, const base::settings& s);
[[nodiscard]] bool is_usable_without_tokens(const node_facts& f, const base::settings& s);

/// Whether a client can release a lock of one resource on the node before its ttl has passed.
[[nodiscard]] bool gives_back(const node_facts& f) noexcept;

/// Whether a client can renew a lock on the node.
[[nodiscard]] bool renews(const node_facts& f) noexcept;

/// Whether clients don't use the node because commands are not permitted. `judge_permissions` names
/// these commands.
[[nodiscard]] bool is_unusable_without_commands(const node_facts& f) noexcept;

struct verdict {
    enum class locks : std::uint8_t {
        available,
        available_unsafely,  ///< two clients may hold the same lock
        available_later,     ///< once the restart guard has admitted the nodes
        /// No majority can renew locks, so a holder loses each lock when its ttl has passed.
        available_without_renewal,
        available_until_ttl,  ///< no majority can release locks before their ttl has passed
        unavailable,
        refused,  ///< clients refuse such a list of nodes
    };

    std::size_t nodes = 0;
    std::size_t quorum = 0;
    std::size_t usable = 0;
    /// The number of usable nodes without an error.
    std::size_t well = 0;
    locks are = locks::unavailable;
    /// 0: no finding, or notes only; 1: at least one warning; 2: at least one error.
    int exit_status = 0;
    std::string text;
};

[[nodiscard]] const char* to_string(verdict::locks l) noexcept;

[[nodiscard]] verdict conclude(const std::vector<node_facts>& nodes,
                               const std::vector<finding>& findings, const base::settings& s);

}  // namespace redlock::cli
