#pragma once

#include <redlock/report.hpp>
#include <redlock/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace redlock::cli {

/// The result of an inspection as text: a line about the lock, one about the clients that wait, if
/// any, and one for each node.
[[nodiscard]] std::string inspection_text(const std::string& resource, const inspection& found,
                                          const report& r);
[[nodiscard]] nlohmann::json inspection_json(const std::string& resource, const inspection& found,
                                             const report& r);

}  // namespace redlock::cli
