#pragma once

#include <redlock/config.hpp>

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

namespace redlock::cli {

struct doctor_options {
    /// The nodes and how to connect to them. The other values are the standard by which the doctor
    /// judges the nodes.
    redlock::config config;
    /// Prints one JSON value instead of text.
    bool json = false;
    /// How long the doctor measures the nodes' clocks and latencies.
    std::chrono::milliseconds watch{1000};
    /// A resource whose keys the doctor looks at. Its name also begins the keys that the doctor
    /// tries. If empty, the doctor uses a name of its own.
    std::optional<std::string> resource{};
};

/**
 * Examines all nodes at the same time and prints to `out` in plain words what is wrong. Blocks for
 * `watch` plus the time that the nodes take to answer. `config::connect_timeout` plus a few times
 * `config::stall_timeout` bound that time.
 *
 * The doctor tries on each node what the library needs. It uses its own keys below
 * `<key_prefix>redlock:doctor:`, or `<key_prefix><resource>:redlock:doctor:`. It deletes these keys
 * afterwards; if it can't, they expire within seconds.
 *
 * Returns the exit status:
 *
 * - 0: no finding, or notes only;
 * - 1: at least one warning;
 * - 2: at least one error.
 *
 * @throws boost::system::system_error with `errc::invalid_config` for a configuration that a client
 * refuses. A list that names a server twice doesn't throw: it is a finding.
 * @throws std::invalid_argument for an invalid resource name.
 */
[[nodiscard]] int doctor(const doctor_options& options, std::ostream& out);

}  // namespace redlock::cli
