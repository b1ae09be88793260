#pragma once

#include "base/settings.hpp"
#include "cli/doctor/facts.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// A command that a node did not carry out (`trial::is_missing`).
struct missing_command {
    const char* name;
    /// The rule of an ACL that permits it.
    const char* rule;
    const trial& went;
};

/// The node's answer to the command, in words that go on from the node's name: "does not permit
/// EVAL", "does not know EVAL", "refuses EVAL (in these words)".
[[nodiscard]] std::string lack_text(const missing_command& c);
[[nodiscard]] std::string lack_text(const missing_command& a, const missing_command& b);

/// Advice for that answer.
[[nodiscard]] std::string lack_advice(const missing_command& c);
[[nodiscard]] std::string lack_advice(const missing_command& a, const missing_command& b);

/// The keys of the named resource, printable.
struct key_names {
    std::string lock;
    std::string counter;
    std::string label;
    std::string queue;
    std::string tickets;  ///< a pattern
};

[[nodiscard]] key_names names_of(const node_facts& f, const base::settings& s);

/// The rules of an ACL that permit these keys or patterns: "~a ~b".
[[nodiscard]] std::string rules_for(const std::vector<std::string>& keys);

/// Advice for a server's error, or for a client's reason that ends with the code of one. Empty: the
/// doctor does not know that code.
[[nodiscard]] std::string_view error_advice(std::string_view error);

}  // namespace redlock::cli
