#pragma once

#include "support/background.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace redlock::test {

/// The direction of bytes through a proxy: up is from the client to the server.
enum class direction { up, down };

/// The way in which a proxy ends connections, towards both sides.
enum class ending { fin, rst };

/**
 * A bad network in front of a server: a TCP proxy on the loopback, with a thread of its own.
 *
 * It begins as a good network. A control affects present and later connections, and has taken
 * effect when the call returns. Nothing here is random. TLS passes like any other data.
 */
class proxy {
public:
    /// A proxy for a server that listens, or will listen, on this port of 127.0.0.1.
    explicit proxy(std::uint16_t target_port);
    ~proxy();
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// `redis://127.0.0.1:port`
    [[nodiscard]] std::string url() const;

    /// Delays bytes that are read from now on. Order is kept, and bandwidth is not limited.
    void delay(direction way, std::chrono::milliseconds time);

    /// Passes nothing on until `release`, not even the end of a connection. `release` then passes
    /// on everything, in order. The proxy reads little meanwhile, so the sender notices, as with a
    /// network that loses packets.
    void hold(direction way);
    void release(direction way);

    /// Passes on at most `bytes` at a time, with a pause after each piece. The maximum turns it
    /// off.
    void split(direction way, std::size_t piece, std::chrono::milliseconds pause = {});

    /// Ends each connection after `bytes` more bytes in this direction, counted from now or from
    /// the start of a later connection. Zero: when there is a first byte to pass.
    void cut_after(direction way, std::size_t bytes, ending how);

    /// The same, but the other direction continues, and the receiver of these bytes gets no more of
    /// them. `is_told`: the receiver gets a FIN after them, as from a side that half-closes.
    void stop_after(direction way, std::size_t bytes, bool is_told);

    /// Disables all cuts and stops.
    void cut_never();

    /// Ends all present connections.
    void cut(ending how);

    /// Half-opens the present connections. The receiver of this direction sees an RST as if its
    /// peer were gone. The other side sees nothing, and its bytes are discarded.
    void sever(direction way);

    /// Corrupts the present connections. Half of the bytes that are read next in this direction
    /// pass, then `bytes` instead of the rest, then nothing more.
    void spoil(direction way, const std::string& noise);

    /// Refuses new connections, or accepts them again. Present connections continue.
    void refuse();
    void accept();

    /// The number of accepted connections, of present connections, and of bytes passed on so far.
    /// The bytes include bytes that are being written.
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
