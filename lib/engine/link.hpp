#pragma once

#include "base/address.hpp"
#include "base/settings.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace redlock::engine {

/// A program that is begun while there are connections must not get them: they are logged in, and
/// live as long as anybody has them.
void keep_from_children(int socket) noexcept;

/// What a link tells; on the client's executor.
class link_events {
public:
    /// A TLS link has its TCP connection, and begins the TLS handshake.
    virtual void on_link_handshaking(unsigned node) = 0;
    virtual void on_link_up(unsigned node) = 0;
    virtual void on_link_bytes(unsigned node, std::string_view bytes) = 0;
    /// `used` is what was written, empty and overwritten.
    virtual void on_link_written(unsigned node, std::string&& used) = 0;
    /// The connection, or the attempt to make one, failed. Nothing more is told.
    virtual void on_link_down(unsigned node, std::string_view reason) = 0;

protected:
    link_events() = default;
    ~link_events() = default;
};

/**
 * One connection to one node, from the first attempt to its end: TCP, TLS or a unix socket.
 *
 * It is kept alive by its own pending operations, so that it may be let go at any time after
 * `close`.
 */
class link {
public:
    link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    virtual ~link() = default;

    /// Begins to connect.
    virtual void start() = 0;
    /// Also of a link whose write has failed: `on_link_down` tells that, when all that had come has
    /// been read.
    [[nodiscard]] virtual bool is_writing() const noexcept = 0;
    /// Only when nothing is being written.
    virtual void write(std::string&& bytes) = 0;
    /// Ends everything at once; nothing is told any more.
    virtual void close() noexcept = 0;
};

/// What every link of a client is made from.
struct link_setup {
    boost::asio::any_io_executor executor;
    link_events* events = nullptr;
    unsigned node = 0;
    const base::address* address = nullptr;
    /// How often this node was connected to before; where a name has several addresses, each
    /// attempt begins with another.
    unsigned attempt = 0;
};

/// The client's trust and identity, shared by its TLS links. Opaque, so that OpenSSL stays in one
/// translation unit.
class tls_context;

/// Null when a file is of no use; `fault` then names the field and says why.
[[nodiscard]] std::shared_ptr<tls_context> load_tls_context(const base::settings& s,
                                                            std::string& fault);

/// The same.
/// @throws boost::system::system_error with `errc::invalid_config` and the fault.
[[nodiscard]] std::shared_ptr<tls_context> make_tls_context(const base::settings& s);

[[nodiscard]] std::shared_ptr<link> make_tcp_link(const link_setup& setup);
[[nodiscard]] std::shared_ptr<link> make_unix_link(const link_setup& setup);
[[nodiscard]] std::shared_ptr<link> make_tls_link(const link_setup& setup,
                                                  const std::shared_ptr<tls_context>& tls);

}  // namespace redlock::engine
