#pragma once

#include "support/port.hpp"
#include "support/process.hpp"
#include "support/resp_client.hpp"
#include "support/temp_dir.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

enum class flavour {
    redis,
    valkey,
    /// Valkey 9, which has a compare-and-delete of its own.
    valkey9,
};

/// The name of the server's program.
[[nodiscard]] const char* program_of(flavour kind);

/// Whether that program is in PATH.
[[nodiscard]] bool is_installed(flavour kind);

/// The kinds to test with: Redis and Valkey, installed or not, and Valkey 9 if it is installed.
[[nodiscard]] std::vector<flavour> kinds();

/// The files that a server writes to its folder.
enum class persistence {
    none,
    /// Every write is on the disk before its answer, so SIGKILL loses nothing.
    append_only,
    /// The server saves a snapshot when it is terminated, or on SAVE. SIGKILL returns it to the
    /// last one.
    snapshot,
};

/// Whether a restart keeps or deletes the files of an earlier life.
enum class memory { kept, lost };

/// The state in which a server counts as started.
enum class readiness {
    /// The server answers, if only with an error such as LOADING.
    answering,
    /// It takes commands.
    usable,
};

struct server_tls {
    std::filesystem::path ca;
    std::filesystem::path certificate;
    std::filesystem::path key;
    bool clients_need_certificate = false;
};

struct server_options {
    flavour kind = flavour::redis;
    /// Without it the server listens only on the unix socket (and on TLS, if wanted), and `url()`
    /// names that socket.
    bool tcp = true;
    /// The address to listen on, with TLS too: one of the loopback.
    std::string address = "127.0.0.1";
    std::optional<server_tls> tls{};
    persistence files = persistence::none;
    /// The password of the default user, which the server object itself uses. Empty: none.
    std::string password{};
    /// A configuration file, for kinds that do not run without one. Empty: none.
    std::filesystem::path configuration{};
    /// Added to the command line, so that they override the object's own arguments.
    std::vector<std::string> arguments{};
    /// `NAME=value`, such as an LD_PRELOAD.
    std::vector<std::string> environment{};
};

/**
 * A real server: a child process with a folder of its own. Both end with the object.
 *
 * Commands of the object go over the server's unix socket, one connection each, so they leave its
 * TCP side alone and cost one client slot for their duration only. Everything blocks, and throws
 * when it fails or takes longer than `patience`. DEBUG commands are allowed. See `process` about
 * the thread that starts it.
 */
class server {
public:
    /// Starts the server and waits until it is usable.
    explicit server(server_options options = {});

    struct not_started {
        /// False: the first start takes other ports if another program has taken these.
        bool keeps_ports = true;
    };
    /// Prepares everything and starts nothing.
    server(server_options options, not_started how);

    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Starts the server again on the same port and in the same folder, with the present `options`.
    void start(memory files = memory::kept, readiness until = readiness::usable);

    /// The two halves of `start`, so that several servers can start at the same time.
    void launch(memory files = memory::kept);
    void await(readiness until = readiness::usable);

    /// SIGKILL, then `start`.
    void restart(memory files = memory::kept, readiness until = readiness::usable);

    /// SIGKILL; returns when the server is gone and its port is closed.
    void kill();

    /// SIGTERM: an orderly end, with a snapshot if the options ask for one.
    void terminate();

    /// SIGSTOP and SIGCONT; they return when the server has stopped, or runs again.
    void stop();
    void cont();

    [[nodiscard]] bool running();

    /// Whether the server runs and is not stopped.
    [[nodiscard]] bool responsive();

    [[nodiscard]] pid_t pid() const;

    /// 0 when the server does not listen on TCP, or has no TLS.
    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] std::uint16_t tls_port() const noexcept;
    [[nodiscard]] std::filesystem::path socket() const { return folder_ / "redis.sock"; }

    /// The folder of the server's files.
    [[nodiscard]] std::filesystem::path data() const { return folder_ / "data"; }

    /// The server's log of this and earlier lives.
    [[nodiscard]] std::string log() const;

    /// The node's URL for the library: `redis://`, or `unix://` when the server does not listen on
    /// TCP.
    [[nodiscard]] std::string url(std::string_view user = {}, std::string_view password = {},
                                  unsigned db = 0) const;
    [[nodiscard]] std::string unix_url(std::string_view user = {}, std::string_view password = {},
                                       unsigned db = 0) const;
    /// An empty `host` means the server's address.
    [[nodiscard]] std::string tls_url(std::string_view host = {}, std::string_view user = {},
                                      std::string_view password = {}, unsigned db = 0) const;

    /// The options of the next `start`. After a change of the password at run time, set the new one
    /// here too.
    [[nodiscard]] server_options& options() noexcept { return options_; }

    /// A new connection, past authentication.
    [[nodiscard]] std::unique_ptr<resp_client> connect() const;

    /// The reply to one command, and the same in the form of `reply::str`.
    reply ask(const std::vector<std::string>& arguments) const;
    std::string command(const std::vector<std::string>& arguments) const;

    [[nodiscard]] bool exists(const std::string& key) const;
    [[nodiscard]] std::optional<std::string> get(const std::string& key) const;

    /// The result of PTTL: -1 for a key without a ttl, -2 for no key. A test that expects more than
    /// some value leaves at least ten seconds between that value and the ttl; a busy machine needs
    /// less for a few commands.
    [[nodiscard]] std::chrono::milliseconds pttl(const std::string& key) const;

    /// FLUSHALL.
    void flush() const;

private:
    [[nodiscard]] std::vector<std::string> command_line() const;
    [[nodiscard]] std::string log_of_this_life() const;
    bool take_other_ports();

    server_options options_;
    temp_dir folder_;
    std::optional<reserved_port> port_{std::in_place};
    std::optional<reserved_port> tls_port_{std::in_place};
    bool keeps_ports_;
    std::size_t earlier_log_ = 0;
    std::unique_ptr<process> process_;
    bool stopped_ = false;
};

}  // namespace redlock::test
