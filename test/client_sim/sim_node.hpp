#pragma once

#include "client_sim/clockwork.hpp"
#include "client_sim/sim_context.hpp"
#include "client_sim/sim_tls.hpp"
#include "support/virtual/model_master.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

class wire;

/// A node and the way to it, with all possible faults of both.
class sim_node final : public model_master::watcher {
public:
    enum class dialling : std::uint8_t { at_once, refused, hanging };

    explicit sim_node(clockwork& c) : clock_(c) { master.watched_by = this; }
    sim_node(const sim_node&) = delete;
    sim_node& operator=(const sim_node&) = delete;

    model_master master;
    /// Set if the node speaks TLS with this identity.
    const sim_identity* identity = nullptr;
    dialling dial = dialling::at_once;
    /// The longest time of bytes on their way.
    std::chrono::milliseconds latency{2};
    /// One command in this many gets a nonsense reply, or closes the connection instead of an
    /// answer. 0 for never.
    std::uint32_t talks_nonsense = 0;
    std::uint32_t hangs_up = 0;
    /// Nonsense begins with the first SET of a connection, so that the connection is usable before.
    bool greets_well = false;
    /// One write in this many does not end because the node takes bytes slowly. 0 for never.
    std::uint32_t blocks = 0;
    /// One write in this many fails because the machine has no room for its bytes. Nothing else
    /// happens. 0 for never.
    std::uint32_t fails_writes = 0;
    /// How often the node sent notifications for expired keys that no command named.
    unsigned ends_told = 0;

    [[nodiscard]] bool is_frozen() const noexcept { return frozen_; }
    void freeze() { frozen_ = true; }
    /// Ends all faults. The node answers the commands of the meantime now.
    void heal();

    void on_change(const std::string& key, const model_master::entry* before,
                   const model_master::entry* after, const session* by) override;

private:
    friend class wire;

    void expect_end(base::instant end);
    void look_for_ends();
    void tell();

    clockwork& clock_;
    bool frozen_ = false;
    /// The first expiry that the node will search for.
    base::instant next_end_ = base::instant::max();
    std::vector<std::weak_ptr<wire>> wires_;
    std::shared_ptr<const void> alive_ = std::make_shared<int>();
};

/// One connection, shared by the client's stream and the node.
class wire : public std::enable_shared_from_this<wire> {
public:
    wire(sim_node& n, sim_context& c)
        : node_(n),
          clock_(n.clock_),
          context_(c),
          node_alive_(n.alive_),
          context_alive_(c.alive()),
          tls_(n.identity == nullptr ? nullptr : std::make_unique<sim_tls>(*n.identity))
    {}

    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;
    ~wire();

    // The client's side: operations that began in its context.
    void connect(std::uint64_t id);
    void read(std::uint64_t id, char* into, std::size_t size);
    void write(std::uint64_t id, std::string_view bytes);
    void stop_reading();
    void close();

    /// The node's side: the connection is reset, and bytes on their way are lost.
    void hang_up();
    void serve();
    void unblock();
    /// Sends the node's notifications.
    void push();

private:
    void complete(std::uint64_t& id, boost::system::error_code ec, std::size_t n = 0);
    void complete_later(std::uint64_t& id, base::nanos after, boost::system::error_code ec,
                        std::size_t n = 0);
    void arrive(std::string bytes);
    [[nodiscard]] std::string reply_to(const words& command);
    /// Turns TLS records into commands. False if the bytes are no TLS.
    [[nodiscard]] bool decrypt();
    void answer(const std::string& reply);
    void send(const std::string& bytes);
    void give();
    [[nodiscard]] std::uint64_t digest(std::string_view bytes) const;
    [[nodiscard]] base::nanos next_arrival(base::instant& last);

    sim_node& node_;
    clockwork& clock_;
    sim_context& context_;
    std::weak_ptr<const void> node_alive_;
    std::weak_ptr<const void> context_alive_;

    std::uint64_t connecting_ = 0;
    std::uint64_t reading_ = 0;
    std::uint64_t writing_ = 0;
    char* into_ = nullptr;
    std::size_t room_ = 0;
    /// Size of the pending write, until the node reads on.
    std::size_t blocked_ = 0;
    bool open_ = false;
    bool was_greeted_ = false;
    bool closed_here_ = false;
    bool closed_there_ = false;
    /// The client reads the received bytes and then the end.
    bool reads_no_more_ = false;
    /// Received bytes that are not read yet.
    std::string incoming_;
    /// Bytes that the node has received but not executed. With TLS: not decrypted.
    std::string asked_;
    std::string encrypted_;
    std::unique_ptr<sim_tls> tls_;
    session session_;
    base::instant last_there_{};
    base::instant last_back_{};
};

/// The stream under a link, with only the functions that `stream_link` needs.
class sim_stream {
public:
    using executor_type = boost::asio::any_io_executor;
    using lowest_layer_type = sim_stream;

    sim_stream(executor_type ex, sim_node& n)
        : executor_(std::move(ex)),
          context_(static_cast<sim_context&>(
              boost::asio::query(executor_, boost::asio::execution::context))),
          wire_(std::make_shared<wire>(n, context_))
    {}
    /// Allowed while nothing is pending.
    sim_stream(sim_stream&& o) noexcept = default;
    sim_stream& operator=(sim_stream&&) = delete;
    ~sim_stream()
    {
        if (wire_) {
            wire_->close();
        }
    }

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
    [[nodiscard]] lowest_layer_type& lowest_layer() noexcept { return *this; }
    [[nodiscard]] const lowest_layer_type& lowest_layer() const noexcept { return *this; }

    template <class Handler>
    void async_connect(Handler&& h)
    {
        wire_->connect(context_.begin(executor_, std::forward<Handler>(h)));
    }

    template <class Buffer, class Handler>
    void async_read_some(const Buffer& b, Handler&& h)
    {
        const auto id = context_.begin(executor_, std::forward<Handler>(h));
        wire_->read(id, static_cast<char*>(b.data()), b.size());
    }

    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& h)
    {
        const boost::asio::const_buffer b = *boost::asio::buffer_sequence_begin(buffers);
        const auto id = context_.begin(executor_, std::forward<Handler>(h));
        wire_->write(id, {static_cast<const char*>(b.data()), b.size()});
    }

    void shutdown(boost::asio::socket_base::shutdown_type, boost::system::error_code& ec)
    {
        ec = {};
        wire_->stop_reading();
    }

    void close(boost::system::error_code& ec)
    {
        ec = {};
        wire_->close();
    }

private:
    executor_type executor_;
    sim_context& context_;
    std::shared_ptr<wire> wire_;
};

}  // namespace redlock::test
