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

/// What a node that is always free and always willing answers; enough for any handshake.
[[nodiscard]] std::string obedient(const arguments& command);

class scripted_server;

/// One connection, in the hands of the server's script. What a dead connection throws ends the
/// script quietly.
class scripted_connection {
public:
    /// Bytes for a command; nothing for no answer at all.
    using answerer = std::function<std::optional<std::string>(const arguments&)>;

    /// 0 for the first connection the server ever accepted.
    [[nodiscard]] std::size_t index() const noexcept { return index_; }

    /// The next command; it is recorded.
    boost::asio::awaitable<arguments> read_command();

    /// The next bytes, whatever they are.
    boost::asio::awaitable<std::string> read_bytes(std::size_t count);

    /// Reads and answers commands until the peer closes. The default answers are `obedient`.
    boost::asio::awaitable<void> serve(answerer answer = obedient);

    boost::asio::awaitable<void> send(std::string bytes);

    /// Sends a few bytes at a time, with a moment in between, so that the peer may see each piece
    /// on its own.
    boost::asio::awaitable<void> send_split(std::string bytes, std::size_t piece = 1,
                                            std::chrono::milliseconds pause = {});

    /// Sends the same over and over until the peer has had enough, or the server goes.
    boost::asio::awaitable<void> send_for_ever(std::string bytes);

    /// Waits for a condition that the test brings about.
    boost::asio::awaitable<void> until(std::function<bool()> condition);

    /// Swallows what comes, unrecorded and unanswered, until the peer closes.
    boost::asio::awaitable<void> ignore();

    /// FIN: nothing more will be sent, reading goes on.
    void half_close();

    /// RST.
    void reset();

    /// FIN, unless there is something unread, which makes the kernel send RST. Also what the end of
    /// the script does.
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
 * A TCP server on the loopback that does to each connection what its script says.
 *
 * Given an executor, all happens there, and only one thread may run it; the object has to go before
 * the executor's context. Without one the server has a thread of its own, and so have the scripts:
 * what they share with the test must be safe for that. The functions of the object may be called
 * from the test in both cases.
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

    /// Connections accepted so far, and those whose script has not ended.
    [[nodiscard]] std::size_t connections() const;
    [[nodiscard]] std::size_t open_connections() const;

    /// The commands read so far, of all connections in order of arrival.
    [[nodiscard]] std::vector<arguments> commands() const;

    /// Those with this name, which is compared without regard to case.
    [[nodiscard]] std::vector<arguments> commands(const std::string& name) const;

    /// What scripts threw, other than errors of their sockets; a test wants this empty.
    [[nodiscard]] std::vector<std::string> failures() const;

    /// New connections are refused, or accepted again.
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
