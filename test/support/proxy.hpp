#pragma once

#include "support/background.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace redlock::test {

/// The way of bytes through a proxy: up is from the client to the server.
enum class direction { up, down };

/// How a proxy ends connections, towards both sides.
enum class ending { fin, rst };

/**
 * A bad network in front of a server: a TCP proxy on the loopback, with a thread of its own.
 *
 * It begins as a good network. What a control changes holds for the connections of now and later,
 * and has happened when the call returns. Nothing here is random. TLS goes through like anything
 * else.
 */
class proxy {
public:
    /// In front of what listens, or will listen, on this port of 127.0.0.1.
    explicit proxy(std::uint16_t target_port);
    ~proxy();
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// `redis://127.0.0.1:port`
    [[nodiscard]] std::string url() const;

    /// What is read from now on travels for so long. Order is kept, bandwidth is not limited.
    void delay(direction way, std::chrono::milliseconds time);

    /// Nothing is passed on any more, ends of connections neither, until `release`; then all of it
    /// is, in order. Little is read meanwhile, so the sender comes to feel it, as with a network
    /// that swallows packets.
    void hold(direction way);
    void release(direction way);

    /// Passes on at most so many bytes at a time, with a pause after each piece. The maximum turns
    /// it off.
    void split(direction way, std::size_t piece, std::chrono::milliseconds pause = {});

    /// Ends each connection when so many more bytes have passed on it in this direction; counted
    /// from now, or from a later connection's start. Zero: when there is a first byte to pass.
    void cut_after(direction way, std::size_t bytes, ending how);

    /// The same, but the other way goes on, and who gets these bytes gets no more of them.
    /// `is_told`: and a FIN behind them, as where a side is closed by half.
    void stop_after(direction way, std::size_t bytes, bool is_told);

    /// No further cuts and stops.
    void cut_never();

    /// Ends all connections of now.
    void cut(ending how);

    /// Half-opens the connections of now: the side that the bytes of this way go to is told that
    /// its peer is gone, by RST; the other side is told nothing, and what it sends is swallowed.
    void sever(direction way);

    /// Spoils the connections of now: of what is read next in this way half is passed on, then
    /// these bytes instead of the rest, then nothing more.
    void spoil(direction way, const std::string& noise);

    /// New connections are refused, or accepted again. Those of now go on.
    void refuse();
    void accept();

    /// Connections accepted so far, those of now, and the bytes passed on so far, those just being
    /// written too.
    [[nodiscard]] std::size_t connections();
    [[nodiscard]] std::size_t open_connections();
    [[nodiscard]] std::size_t bytes(direction way);

    static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

private:
    enum class limit { fin, rst, half, stall };
    struct lane;
    struct link;
    struct state;

    void limit_bytes(direction way, std::size_t bytes, limit then);

    background own_;
    std::shared_ptr<state> state_;
};

}  // namespace redlock::test
