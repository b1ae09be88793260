#pragma once

#include "base/settings.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/doctor/facts.hpp"
#include "cli/doctor/measures.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>

namespace redlock::cli {

/// Asks one node everything there is to ask. What the node does is never an exception. `s`
/// and `o` have to outlive it. `date` is the same for all nodes that are to be compared with each
/// other.
[[nodiscard]] boost::asio::awaitable<node_facts> examine(boost::asio::any_io_executor executor,
                                                         const base::settings& s, std::size_t index,
                                                         our_date date, const doctor_options& o);

}  // namespace redlock::cli
