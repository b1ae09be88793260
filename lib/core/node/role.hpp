#pragma once

#include "resp/reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Whether a server is an independent master.
namespace redlock::core {

/// Which command a server answers with its role.
enum class role_source : std::uint8_t { none, hello, info, role };

/// Appends that command.
void append_role_query(std::string& out, role_source by);

/// The server's answer to that command.
struct role_answer {
    std::string_view role;  ///< empty: the server told none
    std::string fault;      ///< why the server may have no vote; empty: it may
};

/// No value: the reply is no such answer.
[[nodiscard]] std::optional<role_answer> read_role(const resp::reply& r, role_source by);

/// Whether that is the role of a replica.
[[nodiscard]] bool is_replicas(std::string_view role) noexcept;

/// Why a server that runs in this mode may have no vote; empty: it may. A node of a cluster has its
/// keys moved to another one, and forgets what its replica did not know yet, so it does not fail
/// independently.
[[nodiscard]] std::string mode_fault(std::string_view mode);

}  // namespace redlock::core
