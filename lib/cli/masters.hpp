#pragma once

#include "cli/duration.hpp"

#include <redlock/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The nodes that a command uses, how it connects to them, and how it shares them with other
/// clients.
struct masters_options {
    std::vector<std::string> nodes;
    /// The nodes come from the arguments, not from the environment or a file.
    bool are_arguments = false;
    std::string user;
    std::string password_file;
    std::optional<std::uint32_t> database;
    std::string key_prefix;
    duration node_timeout{std::chrono::milliseconds(50)};
    duration connect_timeout{std::chrono::milliseconds(2000)};
    double drift_factor = 0.01;
    std::optional<duration> max_ttl;
    bool admit_new_nodes = false;
    bool fair_queue = true;
    std::string ca_file;
    std::string certificate_file;
    std::string key_file;
    std::string server_name;
    bool insecure = false;
    bool json = false;
    bool verbose = false;
};

/// Adds the options for nodes to the application.
void add_masters(CLI::App& app, masters_options& o);

/**
 * The client's configuration, with a log on stderr. The options supply the user, password and
 * database that a URL leaves out. The password comes from the file, or else from REDLOCK_PASSWORD.
 * The client reads the file again before each connection.
 *
 * @throws std::invalid_argument with a text for the user.
 */
[[nodiscard]] config config_of(const masters_options& o);

/// The same configuration without the nodes.
[[nodiscard]] config config_without_nodes(const masters_options& o);

/// The parts that a URL may leave out.
struct url_parts {
    std::string user;
    std::string password;
    std::optional<std::uint32_t> database;
};

/// Returns `url` with the parts from `rest` that it leaves out. Declared here for the tests.
[[nodiscard]] std::string completed(const std::string& url, const url_parts& rest);

}  // namespace redlock::cli
