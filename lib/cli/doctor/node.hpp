#pragma once

#include "base/settings.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/doctor/facts.hpp"
#include "cli/doctor/measures.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>

namespace redlock::cli {

/// Examines one node. Nothing that the node does causes an exception. `s` and `o` must outlive the
/// operation. Pass the same `date` for all nodes that you want to compare.
[[nodiscard]] boost::asio::awaitable<node_facts> examine(boost::asio::any_io_executor executor,
                                                         const base::settings& s, std::size_t index,
                                                         our_date date, const doctor_options& o);

}  // namespace redlock::cli
