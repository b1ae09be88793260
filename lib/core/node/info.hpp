#pragma once

#include <string_view>

// Fields of the answer to INFO.
namespace redlock::core {

/// The value of a field in the answer to INFO; empty: there is no such field.
[[nodiscard]] std::string_view info_field(std::string_view info, std::string_view name) noexcept;

/// The run id in the answer to INFO: 40 hexadecimal digits; empty: there is none.
[[nodiscard]] std::string_view run_id_of(std::string_view info) noexcept;

/// Why the restart guard cannot use a server with this memory policy: the server may evict keys, or
/// does not give its policy. Empty: it can.
[[nodiscard]] std::string_view memory_fault(std::string_view info) noexcept;

}  // namespace redlock::core
