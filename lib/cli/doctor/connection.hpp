#pragma once

#include "base/address.hpp"
#include "engine/link.hpp"
#include "resp/reader.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace redlock::cli {

/// Thrown if a node doesn't answer, or its answer can't be understood. The text continues a
/// sentence that begins with the node's name.
class no_answer : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The text if TCP connects, but the TLS handshake doesn't end within the allowed time.
inline constexpr std::string_view unfinished_tls =
    "does not finish the TLS handshake, though TCP is connected: the server does not seem to speak "
    "TLS on this port";

/// The text if the node doesn't answer all commands within the allowed time.
inline constexpr std::string_view unanswered_commands = "leaves commands unanswered";

/// The trouble begins with this text if the bytes are no replies.
inline constexpr std::string_view foreign_protocol = "does not speak the protocol of Redis: ";

/// Whether the text continues a sentence after the node's name. Other texts only say how the
/// connection ended.
[[nodiscard]] inline bool says_what_it_does(std::string_view trouble) noexcept
{
    return trouble.starts_with("leaves ") || trouble.starts_with("does not ");
}

/// One connection to one node, over the links that clients use. Every wait ends when the time that
/// was last allowed has passed.
class doctor_connection final : engine::link_events {
public:
    doctor_connection(const boost::asio::any_io_executor& executor, const base::address& address,
                      const std::shared_ptr<engine::tls_context>& tls,
                      std::shared_ptr<engine::known_addresses> addresses);
    ~doctor_connection();
    doctor_connection(const doctor_connection&) = delete;
    doctor_connection& operator=(const doctor_connection&) = delete;

    /// Sets the time that all following waits may take together.
    void allow(std::chrono::nanoseconds span);

    /// Connects.
    /// @throws no_answer
    boost::asio::awaitable<void> connect();

    /// The buffer for commands, which `send` sends.
    [[nodiscard]] std::string& out() noexcept { return out_; }
    void send();

    /// The next reply that isn't a push. It is valid until the next call.
    /// @throws no_answer
    boost::asio::awaitable<resp::reply> next();

    /// When the bytes of the last reply arrived.
    [[nodiscard]] boot_clock::time_point arrived() const noexcept { return current_.arrived; }

private:
    struct chunk {
        std::string bytes;
        boot_clock::time_point arrived{};
    };

    void on_link_handshaking(unsigned node) override;
    void on_link_up(unsigned node) override;
    void on_link_bytes(unsigned node, std::string_view bytes) override;
    void on_link_written(unsigned node, std::string&& used) override;
    void on_link_down(unsigned node, std::string_view reason) override;

    boost::asio::awaitable<void> something();
    void tell();

    std::shared_ptr<engine::link> link_;
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer::time_point deadline_{};
    bool awaits_tls_ = false;
    bool is_up_ = false;
    bool has_news_ = false;
    std::string trouble_;
    std::string out_;
    std::deque<chunk> chunks_;
    chunk current_;
    resp::reader reader_;
};

}  // namespace redlock::cli
