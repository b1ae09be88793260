#pragma once

#include "base/settings.hpp"
#include "core/client_core.hpp"
#include "engine/credentials_request.hpp"
#include "engine/environment.hpp"
#include "engine/link.hpp"
#include "engine/tls_files.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::engine {

class driver;

/// The links of one client to its nodes: connects, writes and closes what the core says, and
/// reports events to the core.
class node_links final : public link_events, public credentials_events {
public:
    /// All arguments must outlive this object. The executors may become empty once `close_all` was
    /// called.
    node_links(const base::settings& s, const boost::asio::any_io_executor& executor,
               const boost::asio::any_io_executor& later, environment& w, core::client_core& core,
               driver& d);

    /// Closes, connects and writes what the core says.
    void serve();
    /// Writes what the core has to write.
    void write_all();
    void close_all() noexcept;

private:
    /// The connection to one node.
    struct peer {
        /// The pending call of the credentials provider, which must answer before the connection
        /// starts.
        std::shared_ptr<credentials_request> asking;
        std::shared_ptr<link> connection;
        std::shared_ptr<known_addresses> addresses;
    };

    void on_link_handshaking(unsigned node) override;
    void on_link_up(unsigned node) override;
    void on_link_bytes(unsigned node, std::string_view bytes) override;
    void on_link_written(unsigned node, std::string&& used) override;
    void on_link_down(unsigned node, std::string_view reason) override;
    void on_credentials(credentials_request& answered) override;

    void connect(unsigned node);
    void ask_for_credentials(unsigned node);
    void make_link(unsigned node);
    void note_addresses(unsigned node) noexcept;
    void write(unsigned node);
    void close_link(unsigned node) noexcept;
    bool close_given_up() noexcept;

    const base::settings& settings_;
    const boost::asio::any_io_executor& executor_;
    /// Runs functions after everything that is already queued.
    const boost::asio::any_io_executor& later_;
    environment& environment_;
    core::client_core& core_;
    core::network& network_;
    driver& driver_;
    /// Set only if a node uses TLS.
    std::optional<tls_files> tls_;
    std::vector<peer> peers_;
};

}  // namespace redlock::engine
