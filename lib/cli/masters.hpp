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

/// Which masters a command speaks to, and how.
struct masters_options {
    std::vector<std::string> nodes;
    /// They were given to this one command, not by the environment or a file.
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
    std::string ca_file;
    std::string certificate_file;
    std::string key_file;
    std::string server_name;
    bool insecure = false;
    bool json = false;
    bool verbose = false;
};

/// Adds them to the whole command.
void add_masters(CLI::App& app, masters_options& o);

/**
 * The client's configuration, with the log on stderr. What a URL leaves out of user, password and
 * database the options complete; the password is that of the file, or else of REDLOCK_PASSWORD. A
 * client reads the file again before each connection.
 *
 * @throws std::invalid_argument with a text for the user.
 */
[[nodiscard]] config config_of(const masters_options& o);

/// All of that but the nodes.
[[nodiscard]] config config_without_nodes(const masters_options& o);

/// What a URL may leave out.
struct url_parts {
    std::string user;
    std::string password;
    std::optional<std::uint32_t> database;
};

/// `url` with each of these that it has not itself. Public for the tests.
[[nodiscard]] std::string completed(const std::string& url, const url_parts& rest);

}  // namespace redlock::cli
