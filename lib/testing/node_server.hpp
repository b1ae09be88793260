#pragma once

#include "base/instant.hpp"
#include "testing/door.hpp"
#include "testing/model_master.hpp"
#include "testing/told.hpp"

#include <redlock/testing/scripted_node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testing {

/**
 * A model of a master with sockets. All handlers on the executor and all public functions hold the
 * mutex. Therefore each step on a socket is a single Asio operation and never a composed one.
 * Outstanding operations keep the object alive.
 */
class node_server final : public std::enable_shared_from_this<node_server>,
                          private model_master::watcher {
public:
    explicit node_server(const boost::asio::any_io_executor& executor);

    [[nodiscard]] std::uint16_t port() const noexcept { return door_.port(); }

    void write(const std::string& key, std::chrono::milliseconds ttl);
    [[nodiscard]] bool has(const std::string& key) const;
    void lose(const std::string& key);

    void answer(std::string_view command, scripted_node::reply with, std::size_t times);
    void freeze();
    void thaw();
    void delay(std::chrono::milliseconds span);
    void set_out_of_memory(bool on);
    void disconnect();
    void refuse();
    void accept();
    void restart(scripted_node::keys left);
    void recover();
    /// Closes the port and all connections for good.
    void close() noexcept;

    [[nodiscard]] std::vector<std::string> commands() const;
    void clear_commands();
    [[nodiscard]] std::size_t count(std::string_view command) const;
    [[nodiscard]] std::size_t count(std::string_view command, const std::string& key) const;
    [[nodiscard]] std::size_t connections() const;

private:
    struct connection {
        /// A command and the time at which it must run.
        struct pending {
            words command;
            base::instant due;
        };

        explicit connection(boost::asio::ip::tcp::socket peer)
            : socket(std::move(peer)),
              timer(socket.get_executor())
        {}

        boost::asio::ip::tcp::socket socket;
        boost::asio::steady_timer timer;
        session state;
        std::array<char, 16 * 1024> chunk{};
        std::string unread;
        std::deque<pending> to_do;
        std::string sending;
        /// The client sends no more. After the pending commands and the bytes to send, the
        /// connection is closed.
        bool is_left = false;
        bool can_be_told = true;
        bool is_cut = false;
    };
    using connection_ptr = std::shared_ptr<connection>;
    using guard = std::lock_guard<std::mutex>;

    /// The scripted reply to a command, and how many times it applies.
    struct scripted {
        std::string command;
        scripted_node::reply with;
        std::size_t times;
    };

    [[nodiscard]] static base::instant now();
    /// The instant after `span`, or the last representable instant if that is too far away.
    [[nodiscard]] static base::instant now_and(std::chrono::milliseconds span);

    void on_change(const std::string& key, const model_master::entry* before,
                   const model_master::entry* after, const session* by) override;

    void open();
    void shut();
    void wait_for_next();
    void try_later();
    void welcome(boost::asio::ip::tcp::socket peer);
    void cut(const connection_ptr& c);
    void cut_all();
    void read(const connection_ptr& c);
    void on_read(const connection_ptr& c, boost::system::error_code ec, std::size_t size);
    [[nodiscard]] bool take_in(connection& c);
    void work(const connection_ptr& c);
    void work_on_all();
    void work_later(const connection_ptr& c, base::instant at);
    [[nodiscard]] std::optional<std::string> reply_to(const words& command, session& s);
    [[nodiscard]] std::string done(const words& command, session& s);
    [[nodiscard]] std::optional<scripted_node::reply> scripted_reply(const words& command);
    void send(const connection_ptr& c);
    void send_all();
    void write_some(const connection_ptr& c);
    void on_written(const connection_ptr& c, boost::system::error_code ec, std::size_t size);
    static void take_no_more(connection& c);
    void end_if_over(const connection_ptr& c);
    void look_at_ends();
    void on_end();

    mutable std::mutex mutex_;
    door door_;
    /// Fires when accepting should be tried again after a failure.
    boost::asio::steady_timer next_try_;
    /// Fires when the first key expires.
    boost::asio::steady_timer ends_;
    model_master master_;
    /// No key expires before this instant.
    std::optional<base::instant> first_end_;
    std::optional<base::instant> ringing_at_;
    std::vector<connection_ptr> connections_;
    std::vector<scripted> scripted_;
    std::vector<told> seen_;
    std::chrono::milliseconds delay_{};
    bool is_frozen_ = false;
    /// The number of times that the port was opened. A handler of an earlier accept sees by it that
    /// it is out of date.
    unsigned openings_ = 0;
};

}  // namespace redlock::testing
