#pragma once

#include "support/background.hpp"
#include "support/listener.hpp"
#include "support/resp_text.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::test {

using arguments = std::vector<std::string>;

/// Answers like a node that is always free and grants everything, which is enough for any
/// handshake.
[[nodiscard]] std::string obedient(const arguments& command);

class scripted_server;

/// One connection, controlled by the server's script. An exception from a dead connection ends the
/// script quietly.
class scripted_connection {
public:
    /// Bytes for a command, or nothing for no answer at all.
    using answerer = std::function<std::optional<std::string>(const arguments&)>;

    /// 0 for the first connection the server ever accepted.
    [[nodiscard]] std::size_t index() const noexcept { return index_; }

    /// The next command, which is recorded.
    boost::asio::awaitable<arguments> read_command();

    /// The next bytes of any kind.
    boost::asio::awaitable<std::string> read_bytes(std::size_t count);

    /// Reads and answers commands until the peer closes. The default answers are `obedient`.
    boost::asio::awaitable<void> serve(answerer answer = obedient);

    boost::asio::awaitable<void> send(std::string bytes);

    /// Sends a few bytes at a time, with a moment in between, so that the peer may see each piece
    /// on its own.
    boost::asio::awaitable<void> send_split(std::string bytes, std::size_t piece = 1,
                                            std::chrono::milliseconds pause = {});

    /// Sends the same bytes over and over until the peer closes, or the server ends.
    boost::asio::awaitable<void> send_for_ever(std::string bytes);

    /// Waits for a condition that the test brings about.
    boost::asio::awaitable<void> until(std::function<bool()> condition);

    /// Discards received bytes, unrecorded and unanswered, until the peer closes.
    boost::asio::awaitable<void> ignore();

    /// Sends FIN: no more data follows, but reading continues.
    void half_close();

    /// RST.
    void reset();

    /// Sends FIN, unless there is unread data, which makes the kernel send RST. The end of the
    /// script does the same.
    void close();

private:
    friend class scripted_server;

    boost::asio::ip::tcp::socket socket_;
    std::size_t index_;
    std::function<void(arguments)> record_;
    std::string buffer_;

    scripted_connection(boost::asio::ip::tcp::socket socket, std::size_t index,
                        std::function<void(arguments)> record);
    boost::asio::awaitable<void> receive();
};

/**
 * A TCP server on the loopback that runs a script for each connection.
 *
 * With an executor, the server runs there. Only one thread may run the executor, and the object
 * must end before the executor's context. Without an executor, the server and its scripts run in a
 * thread of their own, so data that they share with the test must be safe for that. The test may
 * call the functions of the object in both cases.
 */
class scripted_server {
public:
    using script = std::function<boost::asio::awaitable<void>(scripted_connection&)>;

    scripted_server(boost::asio::any_io_executor executor, script per_connection);
    explicit scripted_server(script per_connection);

    /// Closes all connections.
    ~scripted_server();
    scripted_server(const scripted_server&) = delete;
    scripted_server& operator=(const scripted_server&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// `redis://127.0.0.1:port`
    [[nodiscard]] std::string url() const;

    /// The number of accepted connections, and of those whose script has not ended.
    [[nodiscard]] std::size_t connections() const;
    [[nodiscard]] std::size_t open_connections() const;

    /// The commands read so far, of all connections in order of arrival.
    [[nodiscard]] std::vector<arguments> commands() const;

    /// The commands with this name, which is compared without regard to case.
    [[nodiscard]] std::vector<arguments> commands(const std::string& name) const;

    /// The exceptions of scripts, other than errors of their sockets. A test wants this empty.
    [[nodiscard]] std::vector<std::string> failures() const;

    /// Refuses new connections, or accepts them again.
    void refuse();
    void accept();

private:
    struct state;

    template <class Function>
    void control(Function function);

    std::unique_ptr<background> own_;
    std::shared_ptr<state> state_;
};

}  // namespace redlock::test
