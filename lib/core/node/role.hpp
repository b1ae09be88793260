#pragma once

#include "resp/reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Whether a server is an independent master.
namespace redlock::core {

/// The command that a server answers with its role.
enum class role_source : std::uint8_t { none, hello, info, role };

/// Appends that command.
void append_role_query(std::string& out, role_source by);

/// The server's answer to that command.
struct role_answer {
    std::string_view role;  ///< empty: the server gave none
    std::string fault;      ///< why the server may have no vote; empty: it may
};

/// Reads the role from the reply. Empty: the reply is not an answer to that command.
[[nodiscard]] std::optional<role_answer> read_role(const resp::reply& r, role_source by);

/// Whether that is the role of a replica.
[[nodiscard]] bool is_replicas(std::string_view role) noexcept;

/// Why a server that runs in this mode may have no vote; empty: it may. A cluster moves keys
/// between its nodes, and a failover loses keys that the replica did not have yet. So these nodes
/// do not fail independently.
[[nodiscard]] std::string mode_fault(std::string_view mode);

}  // namespace redlock::core
