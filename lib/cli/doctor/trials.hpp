#pragma once

#include "cli/doctor/facts.hpp"
#include "resp/reader.hpp"

#include <string_view>

namespace redlock::cli {

/// The outcome of a command that the doctor tried, from the node's answer. The text of an error
/// leaves `password` out.
[[nodiscard]] trial outcome_of(needed n, const resp::reply& r, std::string_view password);

/// The fault in the value of a fencing counter, after its name. Empty: there is none.
[[nodiscard]] std::string fault_of_counter(const resp::reply& value);

}  // namespace redlock::cli
