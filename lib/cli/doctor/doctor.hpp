#pragma once

#include <redlock/config.hpp>

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

namespace redlock::cli {

struct doctor_options {
    /// The nodes and how to speak to them; what else it says is what the nodes are judged by.
    redlock::config config;
    /// Tells it as one JSON value instead of text.
    bool json = false;
    /// Over which the nodes' clocks and latencies are measured.
    std::chrono::milliseconds watch{1000};
    /// The keys that are tried begin with this resource's name. Empty: with the doctor's own.
    std::optional<std::string> resource{};
};

/**
 * Asks every node, all at the same time, and says on `out` in plain words what is wrong. Blocks for
 * `watch` and what the nodes take to answer, which is bounded by `config::connect_timeout` and a
 * few times `config::stall_timeout`.
 *
 * What the library needs of a node is tried there, with keys of the doctor's own below
 * `<key_prefix>redlock:doctor:`, or `<key_prefix><resource>:redlock:doctor:`. It deletes them
 * again, and they expire within seconds where it cannot.
 *
 * The exit status: 0 nothing, or notes only; 1 warnings at worst; 2 errors.
 *
 * @throws boost::system::system_error with `errc::invalid_config` for a configuration that no
 * client would take, unless no more is wrong with it than that a server is listed twice.
 * @throws std::invalid_argument for a resource that no lock may have.
 */
[[nodiscard]] int doctor(const doctor_options& options, std::ostream& out);

}  // namespace redlock::cli
