#pragma once

#include "cli/doctor/facts.hpp"
#include "resp/reader.hpp"

#include <string_view>

namespace redlock::cli {

/// The outcome of a command that the doctor tried, from the node's answer. An error is shown without
/// `password`.
[[nodiscard]] trial outcome_of(needed n, const resp::reply& r, std::string_view password);

/// What is wrong with the value of a fencing counter, after its name. Empty: nothing.
[[nodiscard]] std::string fault_of_counter(const resp::reply& value);

}  // namespace redlock::cli
