#pragma once

#include "base/address.hpp"
#include "engine/link.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace redlock::engine {

/// Finds a node's addresses and connects to the first that answers.
class tcp_connector {
public:
    using tcp = boost::asio::ip::tcp;

    explicit tcp_connector(const tcp::socket::executor_type& ex) : resolver_(ex) {}

    /// `done(error_code)`. What it captures must keep this object and the socket alive.
    template <class Done>
    void connect(tcp::socket& socket, const base::address& to, unsigned attempt, Done done)
    {
        boost::system::error_code not_an_address;
        const auto ip = boost::asio::ip::make_address(to.host, not_an_address);
        if (!not_an_address) {
            endpoints_.assign(1, {ip, to.port});
            connect_any(socket, std::move(done));
            return;
        }
        resolver_.async_resolve(
            to.host, std::to_string(to.port), tcp::resolver::numeric_service,
            [this, &socket, attempt, done = std::move(done)](
                boost::system::error_code ec, const tcp::resolver::results_type& found) mutable {
                if (!ec && cancelled_) {
                    // The names came before the cancellation, and this after it.
                    ec = boost::asio::error::operation_aborted;
                }
                if (ec) {
                    done(ec);
                    return;
                }
                endpoints_.assign(found.begin(), found.end());
                // One that does not even refuse uses an attempt up; the next one begins behind it.
                const auto first = static_cast<std::ptrdiff_t>(attempt % endpoints_.size());
                std::rotate(endpoints_.begin(), endpoints_.begin() + first, endpoints_.end());
                connect_any(socket, std::move(done));
            });
    }

    void cancel() noexcept
    {
        cancelled_ = true;
        try {
            resolver_.cancel();  // makes a new token for what is resolved next
        } catch (const std::bad_alloc&) {
            return;  // then it goes on to its end, and is told there
        }
    }

private:
    /// One address after the other. Asio's own loop ends at the first that no socket can be opened
    /// for, and does not say why.
    template <class Done>
    void connect_any(tcp::socket& socket, Done done, std::size_t index = 0)
    {
        boost::system::error_code ec;
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
            // The socket was closed for good, though this attempt may have ended before.
            done(boost::asio::error::operation_aborted);
            return;
        }
        if (ec && index + 1 < endpoints_.size()) {
            connect_any(socket, std::move(done), index + 1);
            return;
        }
        if (!ec) {
            // Small requests, answered at once: never held back for more. A socket that refuses
            // works all the same.
            boost::system::error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
        }
        done(ec);
    }

    tcp::resolver resolver_;
    std::vector<tcp::endpoint> endpoints_;
    bool cancelled_ = false;
};

}  // namespace redlock::engine
