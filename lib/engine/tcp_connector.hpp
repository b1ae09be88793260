#pragma once

#include "base/address.hpp"
#include "engine/known_addresses.hpp"
#include "engine/link.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace redlock::engine {

/// Resolves a node's addresses and connects to the first one that answers, in the order that
/// `known_addresses` gives.
class tcp_connector {
public:
    using tcp = boost::asio::ip::tcp;

    explicit tcp_connector(const tcp::socket::executor_type& ex) : resolver_(ex) {}

    /// Connects, then calls `done(error_code)`. The captures of `done` must keep this object and
    /// the socket alive.
    template <class Done>
    void connect(tcp::socket& socket, const base::address& to,
                 std::shared_ptr<known_addresses> known, Done done)
    {
        known_ = known ? std::move(known) : std::make_shared<known_addresses>();
        boost::system::error_code not_an_address;
        const auto ip = boost::asio::ip::make_address(to.host, not_an_address);
        if (!not_an_address) {
            endpoints_.assign(1, {ip, to.port});
            known_->sort(endpoints_);
            connect_any(socket, std::move(done));
            return;
        }
        resolver_.async_resolve(
            to.host, std::to_string(to.port), tcp::resolver::numeric_service,
            [this, &socket, done = std::move(done)](
                boost::system::error_code ec, const tcp::resolver::results_type& found) mutable {
                if (!ec && cancelled_) {
                    // The names were resolved before the cancellation, but this handler runs after
                    // it.
                    ec = boost::asio::error::operation_aborted;
                }
                if (ec) {
                    done(ec);
                    return;
                }
                endpoints_.assign(found.begin(), found.end());
                known_->sort(endpoints_);
                connect_any(socket, std::move(done));
            });
    }

    void cancel() noexcept
    {
        cancelled_ = true;
        try {
            resolver_.cancel();  // makes a new token for later names
        } catch (const std::bad_alloc&) {
            return;  // The lookup then runs to its end, where its handler reports the cancellation.
        }
    }

private:
    /// Tries one address after the other. Asio's own loop stops at the first address for which it
    /// can't open a socket, and doesn't report why.
    template <class Done>
    void connect_any(tcp::socket& socket, Done done, std::size_t index = 0)
    {
        boost::system::error_code ec;
        known_->note_try(endpoints_[index]);
        socket.close(ec);
        socket.open(endpoints_[index].protocol(), ec);
        auto next = [this, &socket, index,
                     done = std::move(done)](boost::system::error_code failed) mutable {
            on_tried(socket, std::move(done), index, failed);
        };
        if (ec) {
            boost::asio::post(socket.get_executor(),
                              [next = std::move(next), ec]() mutable { next(ec); });
        } else {
            keep_from_children(socket.native_handle());
            socket.async_connect(endpoints_[index], std::move(next));
        }
    }

    template <class Done>
    void on_tried(tcp::socket& socket, Done done, std::size_t index, boost::system::error_code ec)
    {
        if (cancelled_) {
            // The socket was closed for good, even if this attempt ended before that.
            done(boost::asio::error::operation_aborted);
            return;
        }
        if (ec && index + 1 < endpoints_.size()) {
            connect_any(socket, std::move(done), index + 1);
            return;
        }
        if (!ec) {
            // Requests are small and answered at once, so the kernel must not delay them. If
            // setting the option fails, the socket still works.
            boost::system::error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
        }
        done(ec);
    }

    tcp::resolver resolver_;
    std::shared_ptr<known_addresses> known_;
    std::vector<tcp::endpoint> endpoints_;
    bool cancelled_ = false;
};

}  // namespace redlock::engine
