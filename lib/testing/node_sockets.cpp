#include "testing/node_server.hpp"
#include "testing/wire.hpp"

#include <boost/asio/buffer.hpp>

#include <cctype>
#include <chrono>
#include <exception>
#include <utility>

// The connections of a node.
namespace redlock::testing {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

void node_server::open()
{
    if (door_.acceptor().is_open()) {
        return;
    }
    door_.open();
    try {
        wait_for_next();
    } catch (...) {
        door_.shut();
        throw;
    }
}

void node_server::shut()
{
    ++openings_;
    door_.shut();
    next_try_.cancel();
}

void node_server::wait_for_next()
{
    door_.acceptor().async_accept(
        [self = shared_from_this(), opening = openings_](error_code ec, tcp::socket peer) {
            const guard here(self->mutex_);
            if (opening != self->openings_) {
                return;
            }
            if (ec) {
                self->try_later();
                return;
            }
            self->welcome(std::move(peer));
            self->wait_for_next();
        });
}

/// Accepts again a little later. Accepting fails mostly because no descriptor is left. The client
/// then stays in the kernel's queue, so that an immediate attempt would fail again.
void node_server::try_later()
{
    constexpr std::chrono::milliseconds pause{10};
    next_try_.expires_after(pause);
    next_try_.async_wait([self = shared_from_this(), opening = openings_](error_code) {
        const guard here(self->mutex_);
        if (opening == self->openings_) {
            self->wait_for_next();
        }
    });
}

void node_server::welcome(tcp::socket peer)
{
    error_code ignored;
    peer.set_option(tcp::no_delay(true), ignored);
    connections_.push_back(std::make_shared<connection>(std::move(peer)));
    read(connections_.back());
}

void node_server::cut(const connection_ptr& c)
{
    // Closes with RST, so that data in transit is lost with the connection.
    error_code ignored;
    c->socket.set_option(tcp::socket::linger(true, 0), ignored);
    c->socket.close(ignored);
    c->timer.cancel();
    c->is_cut = true;
    master_.forget(c->state);
    std::erase(connections_, c);
}

void node_server::cut_all()
{
    while (!connections_.empty()) {
        cut(connection_ptr(connections_.back()));
    }
}

void node_server::read(const connection_ptr& c)
{
    c->socket.async_read_some(asio::buffer(c->chunk),
                              [self = shared_from_this(), c](error_code ec, std::size_t size) {
                                  const guard here(self->mutex_);
                                  if (!c->is_cut && !c->is_left) {
                                      self->on_read(c, ec, size);
                                  }
                              });
}

void node_server::on_read(const connection_ptr& c, error_code ec, std::size_t size)
{
    c->unread.append(c->chunk.data(), size);
    if (!take_in(*c)) {
        cut(c);
        return;
    }
    c->is_left = static_cast<bool>(ec);
    if (!c->is_left) {
        read(c);
    }
    work(c);
}

/// Parses the commands that have arrived. Returns false if the bytes are no command.
bool node_server::take_in(connection& c)
{
    std::string_view rest = c.unread;
    try {
        while (auto command = take_command(rest)) {
            if (!command->empty()) {
                command->front() = wire::in_case(std::move(command->front()), std::toupper);
                seen_.push_back(tell(*command));
                c.to_do.push_back({std::move(*command), now_and(delay_)});
            }
        }
    } catch (const std::exception&) {
        return false;
    }
    c.unread.erase(0, c.unread.size() - rest.size());
    return true;
}

void node_server::send(const connection_ptr& c)
{
    if (is_frozen_ || !c->sending.empty() || c->state.out.empty()) {
        return;
    }
    c->sending = std::exchange(c->state.out, {});
    if (c->can_be_told) {
        write_some(c);
    } else {
        c->sending.clear();
    }
}

void node_server::write_some(const connection_ptr& c)
{
    c->socket.async_write_some(asio::buffer(c->sending),
                               [self = shared_from_this(), c](error_code ec, std::size_t size) {
                                   const guard here(self->mutex_);
                                   if (!c->is_cut) {
                                       self->on_written(c, ec, size);
                                   }
                               });
}

void node_server::on_written(const connection_ptr& c, error_code ec, std::size_t size)
{
    c->sending.erase(0, size);
    if (ec) {
        c->can_be_told = false;
        c->sending.clear();
    }
    if (!c->sending.empty()) {
        write_some(c);
        return;
    }
    send(c);
    end_if_over(c);
}

/// Drops the pending commands. The connection still sends the replies it has, and then ends.
void node_server::take_no_more(connection& c)
{
    c.to_do.clear();
    c.is_left = true;
}

void node_server::end_if_over(const connection_ptr& c)
{
    const bool has_more = !c->to_do.empty() || !c->sending.empty() || !c->state.out.empty();
    if (c->is_left && !has_more && !c->is_cut) {
        cut(c);
    }
}

void node_server::send_all()
{
    for (const connection_ptr& c : connections_) {
        send(c);
    }
}

}  // namespace redlock::testing
