#pragma once

#include "base/address.hpp"
#include "base/settings.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace redlock::engine {

/// Keeps child processes from inheriting the socket. Its connection is logged in, and would stay
/// open as long as any process has it.
void keep_from_children(int socket) noexcept;

/// Receives the events of a link. Called on the client's executor.
class link_events {
public:
    /// The TCP connection of a TLS link is up, and the TLS handshake begins.
    virtual void on_link_handshaking(unsigned node) = 0;
    virtual void on_link_up(unsigned node) = 0;
    virtual void on_link_bytes(unsigned node, std::string_view bytes) = 0;
    /// A write has ended. `used` is the written buffer, emptied and overwritten.
    virtual void on_link_written(unsigned node, std::string&& used) = 0;
    /// The connection, or the attempt to connect, has failed. No more events follow.
    virtual void on_link_down(unsigned node, std::string_view reason) = 0;

protected:
    link_events() = default;
    ~link_events() = default;
};

/**
 * One connection to one node, over TCP, TLS or a Unix socket. It lasts from the first connection
 * attempt to its end.
 *
 * Its pending operations keep the link alive, so the owner may drop it at any time after `close`.
 */
class link {
public:
    link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    virtual ~link() = default;

    /// Starts to connect.
    virtual void start() = 0;
    /// Whether a write is pending. Stays true after a failed write: `on_link_down` reports the
    /// failure once all received bytes have been read.
    [[nodiscard]] virtual bool is_writing() const noexcept = 0;
    /// Starts to write. Call it only if no write is pending.
    virtual void write(std::string&& bytes) = 0;
    /// Ends everything at once. No more events follow.
    virtual void close() noexcept = 0;
};

class known_addresses;

/// The arguments of every link.
struct link_setup {
    boost::asio::any_io_executor executor;
    link_events* events = nullptr;
    unsigned node = 0;
    const base::address* address = nullptr;
    /// The known addresses of the node's name. Null: none is known.
    std::shared_ptr<known_addresses> addresses;
};

/// The client's trusted certificates and own identity, shared by its TLS links. The type is opaque,
/// so that only one translation unit includes OpenSSL.
class tls_context;

/// Loads the TLS files. Returns null if a file is unusable; `fault` then names the field and the
/// reason.
[[nodiscard]] std::shared_ptr<tls_context> load_tls_context(const base::settings& s,
                                                            std::string& fault);

/// Loads the TLS files.
/// @throws boost::system::system_error with `errc::invalid_config` and the reason.
[[nodiscard]] std::shared_ptr<tls_context> make_tls_context(const base::settings& s);

[[nodiscard]] std::shared_ptr<link> make_tcp_link(const link_setup& setup);
[[nodiscard]] std::shared_ptr<link> make_unix_link(const link_setup& setup);
[[nodiscard]] std::shared_ptr<link> make_tls_link(const link_setup& setup,
                                                  const std::shared_ptr<tls_context>& tls);

}  // namespace redlock::engine
