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

/// The name of its program.
[[nodiscard]] const char* program_of(flavour kind);

/// Whether that is in PATH.
[[nodiscard]] bool is_installed(flavour kind);

/// What to test with: Redis and Valkey, installed or not, and Valkey 9 where it is.
[[nodiscard]] std::vector<flavour> kinds();

/// What a server writes to its folder.
enum class persistence {
    none,
    /// Every write is on the disk before it is answered: nothing is lost by SIGKILL.
    append_only,
    /// A snapshot when it is terminated, or on SAVE; SIGKILL takes it back to the last one.
    snapshot,
};

/// What becomes of the files of an earlier life.
enum class memory { kept, lost };

/// When a server counts as started.
enum class readiness {
    /// It answers, be it with an error such as LOADING.
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
    /// Without it only the unix socket (and TLS, if wanted) is listened on, and `url()` names that.
    bool tcp = true;
    /// Where it listens, with TLS too: an address of the loopback.
    std::string address = "127.0.0.1";
    std::optional<server_tls> tls{};
    persistence files = persistence::none;
    /// Of the default user. The server object itself uses it. Empty: none.
    std::string password{};
    /// A configuration file, for those that do not run without one. Empty: none.
    std::filesystem::path configuration{};
    /// Added to the command line, so that they win over what the object chose.
    std::vector<std::string> arguments{};
    /// `NAME=value`, such as an LD_PRELOAD.
    std::vector<std::string> environment{};
};

/**
 * A real server, a child process with a folder of its own, which both go with the object.
 *
 * Commands of the object go over the server's unix socket, one connection each, so they leave its
 * TCP side alone and cost one client slot for their duration only. Everything blocks, and throws
 * when it fails or takes longer than `patience`. DEBUG commands are allowed. See `process` about
 * the thread that starts it.
 */
class server {
public:
    /// Starts it and waits until it is usable.
    explicit server(server_options options = {});

    struct not_started {
        /// False: the first start takes other ports where another program has taken these.
        bool keeps_ports = true;
    };
    /// Prepares everything and starts nothing.
    server(server_options options, not_started how);

    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Starts it again on the same port and in the same folder, with the `options` of now.
    void start(memory files = memory::kept, readiness until = readiness::usable);

    /// The two halves of `start`, so that several servers can start at the same time.
    void launch(memory files = memory::kept);
    void await(readiness until = readiness::usable);

    /// SIGKILL, then `start`.
    void restart(memory files = memory::kept, readiness until = readiness::usable);

    /// SIGKILL; returns when it is gone and its port closed.
    void kill();

    /// SIGTERM: an orderly end, with a snapshot if there are to be any.
    void terminate();

    /// SIGSTOP and SIGCONT; they return when it stands still, or goes again.
    void stop();
    void cont();

    [[nodiscard]] bool running();

    /// Runs, and is not stopped.
    [[nodiscard]] bool responsive();

    [[nodiscard]] pid_t pid() const;

    /// 0 when it does not listen on TCP, or without TLS.
    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] std::uint16_t tls_port() const noexcept;
    [[nodiscard]] std::filesystem::path socket() const { return folder_ / "redis.sock"; }

    /// Where its files are.
    [[nodiscard]] std::filesystem::path data() const { return folder_ / "data"; }

    /// All it has written to its log in this and earlier lives.
    [[nodiscard]] std::string log() const;

    /// The node as the library wants it: `redis://`, or `unix://` when it does not listen on TCP.
    [[nodiscard]] std::string url(std::string_view user = {}, std::string_view password = {},
                                  unsigned db = 0) const;
    [[nodiscard]] std::string unix_url(std::string_view user = {}, std::string_view password = {},
                                       unsigned db = 0) const;
    /// `host`: empty: its address.
    [[nodiscard]] std::string tls_url(std::string_view host = {}, std::string_view user = {},
                                      std::string_view password = {}, unsigned db = 0) const;

    /// For the next `start`; a password that was changed at run time has to be told here as well.
    [[nodiscard]] server_options& options() noexcept { return options_; }

    /// A connection of one's own, past authentication.
    [[nodiscard]] std::unique_ptr<resp_client> connect() const;

    /// One command's reply, and the same as `reply::str` puts it.
    reply ask(const std::vector<std::string>& arguments) const;
    std::string command(const std::vector<std::string>& arguments) const;

    [[nodiscard]] bool exists(const std::string& key) const;
    [[nodiscard]] std::optional<std::string> get(const std::string& key) const;

    /// As PTTL says it: -1 for a key that stays for ever, -2 for none. A test that expects more
    /// than some value leaves ten seconds at least between that value and the ttl; a busy machine
    /// needs less for a few commands.
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
