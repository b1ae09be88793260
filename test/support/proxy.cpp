#include "support/proxy.hpp"

#include "support/listener.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

namespace redlock::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using clock = std::chrono::steady_clock;

namespace {

constexpr auto quiet = asio::as_tuple(asio::use_awaitable);

/// The most bytes that a link queues, so that the sender notices a frozen direction.
constexpr std::size_t most_waiting = 1024 * 1024;

struct packet {
    clock::time_point due;
    /// Empty for the sender's FIN.
    std::string bytes;
};

/// Waits until another coroutine cancels the timer.
asio::awaitable<void> woken(asio::steady_timer& timer,
                            clock::time_point latest = clock::time_point::max())
{
    timer.expires_at(latest);
    co_await timer.async_wait(quiet);
}

}  // namespace

/// The behaviour of one direction.
struct proxy::lane {
    std::chrono::milliseconds delay{0};
    bool held = false;
    std::size_t piece = no_limit;
    std::chrono::milliseconds pause{0};
    std::size_t cut_after = no_limit;
    limit then = limit::fin;
    std::size_t bytes = 0;
};

/// One connection and its counterpart at the server.
struct proxy::link {
    /// One direction of a connection.
    struct channel {
        explicit channel(const asio::any_io_executor& e) : readable(e), writable(e) {}

        void wake()
        {
            readable.cancel();
            writable.cancel();
        }

        /// Whether the connection ends after `bytes` more bytes.
        bool spend(std::size_t size)
        {
            if (budget == no_limit) {
                return false;
            }
            budget -= size;
            return budget == 0;
        }

        std::deque<packet> packets;
        std::size_t waiting = 0;
        /// The time at which the pause after the last piece ends.
        clock::time_point not_before;
        /// The bytes that may still pass before the connection is cut.
        std::size_t budget = no_limit;
        /// The bytes that replace the rest of the next bytes.
        std::string noise;
        /// Received bytes are discarded.
        bool swallows = false;
        asio::steady_timer readable;  ///< the reading half waits here
        asio::steady_timer writable;  ///< the writing half waits here
    };

    explicit link(tcp::socket accepted)
        : client(std::move(accepted)),
          server(client.get_executor()),
          channels{channel(client.get_executor()), channel(client.get_executor())}
    {}

    channel& at(direction way) { return channels[static_cast<std::size_t>(way)]; }

    tcp::socket& source(direction way) { return way == direction::up ? client : server; }
    tcp::socket& sink(direction way) { return way == direction::up ? server : client; }

    void sever(direction way)
    {
        for (auto& each : channels) {
            each.swallows = true;
            each.wake();
        }
        reset(sink(way));
    }

    /// The link continues without this socket.
    [[nodiscard]] bool is_severed(const tcp::socket& side) const { return open && !side.is_open(); }

    void end(ending how)
    {
        open = false;
        for (auto* socket : {&client, &server}) {
            if (how == ending::rst) {
                reset(*socket);
            }
            boost::system::error_code ignored;
            socket->shutdown(tcp::socket::shutdown_both, ignored);
            socket->close(ignored);
        }
        for (auto& each : channels) {
            each.wake();
        }
    }

    bool open = true;
    tcp::socket client;
    tcp::socket server;
    std::array<channel, 2> channels;
    /// The directions that have passed on their FIN.
    unsigned finished = 0;
};

/// All of this happens in the proxy's thread.
struct proxy::state : std::enable_shared_from_this<state> {
    using link_ptr = std::shared_ptr<link>;

    state(const asio::any_io_executor& e, std::uint16_t port)
        : executor(e),
          listening(std::make_shared<listener>(e)),
          target(port)
    {}

    lane& at(direction way) { return lanes[static_cast<std::size_t>(way)]; }

    void open()
    {
        listening->open([self = weak_from_this()](tcp::socket peer) {
            if (const auto here = self.lock()) {
                asio::co_spawn(here->executor, connect(here, std::move(peer)), asio::detached);
            }
        });
    }

    void wake_all()
    {
        for (const auto& each : links) {
            for (auto& one : each->channels) {
                one.wake();
            }
        }
    }

    void end_all(ending how)
    {
        for (const auto& each : std::exchange(links, {})) {
            each->end(how);
        }
    }

    void drop(const link_ptr& which, ending how)
    {
        if (which->open) {
            which->end(how);
            std::erase(links, which);
        }
    }

    static asio::awaitable<void> connect(std::shared_ptr<state> self, tcp::socket peer)
    {
        const auto made = std::make_shared<link>(std::move(peer));
        ++self->accepted;
        self->links.push_back(made);
        for (const auto way : {direction::up, direction::down}) {
            made->at(way).budget = self->at(way).cut_after;
        }
        const tcp::endpoint there(asio::ip::address_v4::loopback(), self->target);
        const auto [error] = co_await made->server.async_connect(there, quiet);
        if (error || !made->open) {
            self->drop(made, ending::rst);
            co_return;
        }
        made->server.set_option(tcp::no_delay(true));
        for (const auto way : {direction::up, direction::down}) {
            asio::co_spawn(self->executor, read(self, made, way), asio::detached);
            asio::co_spawn(self->executor, write(self, made, way), asio::detached);
        }
    }

    static asio::awaitable<void> read(std::shared_ptr<state> self, link_ptr of, direction way)
    {
        auto& from = of->source(way);
        auto& channel = of->at(way);
        std::array<char, 16 * 1024> chunk;
        for (;;) {
            while (of->open && (self->at(way).held || channel.waiting >= most_waiting)) {
                co_await woken(channel.readable);
            }
            if (!of->open || of->is_severed(from)) {
                co_return;
            }
            const auto [error, size] = co_await from.async_read_some(asio::buffer(chunk), quiet);
            if (of->is_severed(from)) {
                co_return;
            }
            if (error && (error != asio::error::eof || channel.swallows)) {
                self->drop(of, ending::rst);
                co_return;
            }
            self->take(channel, way, {chunk.data(), size});
            if (error) {
                co_return;
            }
        }
    }

    /// Queues received bytes.
    void take(link::channel& channel, direction way, std::string bytes)
    {
        if (channel.swallows) {
            return;
        }
        if (!channel.noise.empty() && !bytes.empty()) {
            bytes.resize(bytes.size() / 2);
            bytes += std::exchange(channel.noise, {});
            channel.swallows = true;
        }
        channel.waiting += bytes.size();
        channel.packets.push_back({clock::now() + at(way).delay, std::move(bytes)});
        channel.writable.cancel();
    }

    static asio::awaitable<void> write(std::shared_ptr<state> self, link_ptr of, direction way)
    {
        auto& channel = of->at(way);
        for (;;) {
            co_await self->next_due(*of, way);
            auto& to = of->sink(way);
            if (!of->open || of->is_severed(to)) {
                co_return;
            }
            if (channel.packets.front().bytes.empty()) {
                self->finish(of, way);
                co_return;
            }
            auto& bytes = channel.packets.front().bytes;
            const auto size = std::min({bytes.size(), self->at(way).piece, channel.budget});
            // Counted before the other side can have seen the bytes.
            self->at(way).bytes += size;
            const bool is_end = channel.spend(size);
            const auto [error, sent] =
                co_await asio::async_write(to, asio::buffer(bytes.data(), size), quiet);
            if (of->is_severed(to)) {
                co_return;
            }
            self->passed(channel, way, sent);
            if (error || is_end) {
                self->end(of, way, error ? limit::rst : self->at(way).then);
                co_return;
            }
        }
    }

    /// Returns when the first packet may be passed on, or the link has ended.
    asio::awaitable<void> next_due(link& of, direction way)
    {
        auto& channel = of.at(way);
        while (of.open && !of.is_severed(of.sink(way))) {
            if (channel.packets.empty() || at(way).held) {
                co_await woken(channel.writable);
                continue;
            }
            const auto due = std::max(channel.packets.front().due, channel.not_before);
            if (due <= clock::now()) {
                co_return;
            }
            co_await woken(channel.writable, due);
        }
    }

    void passed(link::channel& channel, direction way, std::size_t size)
    {
        channel.waiting -= size;
        channel.not_before = clock::now() + at(way).pause;
        channel.readable.cancel();
        auto& bytes = channel.packets.front().bytes;
        bytes.erase(0, size);
        if (bytes.empty()) {
            channel.packets.pop_front();
        }
    }

    /// The end of a direction that passes nothing on any more.
    void end(const link_ptr& of, direction way, limit how)
    {
        if (how == limit::fin || how == limit::rst) {
            drop(of, how == limit::fin ? ending::fin : ending::rst);
            return;
        }
        auto& channel = of->at(way);
        channel.swallows = true;
        channel.waiting = 0;
        channel.packets.clear();
        channel.readable.cancel();
        if (how == limit::half) {
            finish(of, way);
        }
    }

    void finish(const link_ptr& of, direction way)
    {
        boost::system::error_code ignored;
        of->sink(way).shutdown(tcp::socket::shutdown_send, ignored);
        if (++of->finished == of->channels.size()) {
            drop(of, ending::fin);
        }
    }

    asio::any_io_executor executor;
    std::shared_ptr<listener> listening;
    std::uint16_t target;
    std::array<lane, 2> lanes;
    std::vector<link_ptr> links;
    std::size_t accepted = 0;
};

proxy::proxy(std::uint16_t target_port)
    : state_(std::make_shared<state>(own_.executor(), target_port))
{
    own_.call([this] { state_->open(); });
}

proxy::~proxy()
{
    own_.call([this] {
        state_->listening->close();
        state_->end_all(ending::fin);
    });
}

std::uint16_t proxy::port() const noexcept
{
    return state_->listening->port();
}

std::string proxy::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

void proxy::delay(direction way, std::chrono::milliseconds time)
{
    own_.call([=, this] { state_->at(way).delay = time; });
}

void proxy::hold(direction way)
{
    own_.call([=, this] { state_->at(way).held = true; });
}

void proxy::release(direction way)
{
    own_.call([=, this] {
        state_->at(way).held = false;
        state_->wake_all();
    });
}

void proxy::split(direction way, std::size_t piece, std::chrono::milliseconds pause)
{
    own_.call([=, this] {
        state_->at(way).piece = std::max<std::size_t>(piece, 1);
        state_->at(way).pause = pause;
    });
}

void proxy::limit_bytes(direction way, std::size_t bytes, limit then)
{
    own_.call([=, this] {
        state_->at(way).then = then;
        state_->at(way).cut_after = bytes;
        for (const auto& each : state_->links) {
            each->at(way).budget = bytes;
        }
    });
}

void proxy::cut_after(direction way, std::size_t bytes, ending how)
{
    limit_bytes(way, bytes, how == ending::fin ? limit::fin : limit::rst);
}

void proxy::stop_after(direction way, std::size_t bytes, bool is_told)
{
    limit_bytes(way, bytes, is_told ? limit::half : limit::stall);
}

void proxy::cut_never()
{
    own_.call([this] {
        for (const auto way : {direction::up, direction::down}) {
            state_->at(way).cut_after = no_limit;
            for (const auto& each : state_->links) {
                each->at(way).budget = no_limit;
            }
        }
    });
}

void proxy::cut(ending how)
{
    own_.call([=, this] { state_->end_all(how); });
}

void proxy::sever(direction way)
{
    own_.call([=, this] {
        for (const auto& each : state_->links) {
            each->sever(way);
        }
    });
}

void proxy::spoil(direction way, const std::string& noise)
{
    own_.call([&, this] {
        for (const auto& each : state_->links) {
            each->at(way).noise = noise;
        }
    });
}

void proxy::refuse()
{
    own_.call([this] { state_->listening->close(); });
}

void proxy::accept()
{
    own_.call([this] { state_->open(); });
}

std::size_t proxy::connections()
{
    return own_.call([this] { return state_->accepted; });
}

std::size_t proxy::open_connections()
{
    return own_.call([this] { return state_->links.size(); });
}

std::size_t proxy::bytes(direction way)
{
    return own_.call([=, this] { return state_->at(way).bytes; });
}

}  // namespace redlock::test
