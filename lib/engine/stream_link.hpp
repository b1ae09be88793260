#pragma once

#include "base/wipe.hpp"
#include "engine/handler_memory.hpp"
#include "engine/link.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::engine {

/**
 * Reads and writes, in the same way for every kind of stream. `Derived` provides `stream()`, an
 * asynchronous stream, and `lowest()`, its socket. It connects in `start` and then calls `up`.
 *
 * A node may send the reason before it closes the connection, and a write may fail before that
 * reason is read. Therefore only the read operation reports the end of a link.
 */
template <class Derived>
class stream_link : public link, public std::enable_shared_from_this<Derived> {
public:
    [[nodiscard]] bool is_writing() const noexcept final { return writing_; }

    void write(std::string&& bytes) final
    {
        out_ = std::move(bytes);
        writing_ = true;
        boost::asio::async_write(
            self().stream(), boost::asio::buffer(out_),
            boost::asio::bind_allocator(
                handler_allocator<std::byte>(write_memory_),
                [me = this->shared_from_this()](boost::system::error_code ec, std::size_t) {
                    me->on_written(ec);
                }));
    }

    void close() noexcept final
    {
        events_ = nullptr;
        boost::system::error_code ignored;  // nothing can be done if closing fails
        self().lowest().close(ignored);
        self().stop_connecting();
    }

protected:
    explicit stream_link(const link_setup& setup) : setup_(setup), events_(setup.events) {}
    /// Wipes the buffer here too, because the completion of a write may be missing if the context
    /// is destroyed.
    ~stream_link() override { base::wipe(out_); }

    [[nodiscard]] const link_setup& setup() const noexcept { return setup_; }
    [[nodiscard]] bool is_closed() const noexcept { return events_ == nullptr; }

    /// Whether the error only says that a connection has ended, without a reason.
    static bool is_mere_end(boost::system::error_code ec) noexcept
    {
        return ec == boost::asio::error::eof;
    }

    /// The reason in the log.
    static std::string reason_of(boost::system::error_code ec) { return ec.message(); }

    void up()
    {
        read();
        events_->on_link_up(setup_.node);
    }

    void handshaking() { events_->on_link_handshaking(setup_.node); }

    void down(std::string_view reason)
    {
        if (events_ != nullptr) {
            std::exchange(events_, nullptr)->on_link_down(setup_.node, reason);
        }
    }

private:
    [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }

    void read()
    {
        self().stream().async_read_some(
            boost::asio::buffer(in_),
            boost::asio::bind_allocator(
                handler_allocator<std::byte>(read_memory_),
                [me = this->shared_from_this()](boost::system::error_code ec, std::size_t n) {
                    me->on_read(ec, n);
                }));
    }

    void on_read(boost::system::error_code ec, std::size_t n)
    {
        if (is_closed()) {
            return;
        }
        if (ec) {
            const bool tells_less = write_failure_ && Derived::is_mere_end(ec);
            down(Derived::reason_of(tells_less ? write_failure_ : ec));
            return;
        }
        events_->on_link_bytes(setup_.node, {in_.data(), n});
        if (!is_closed()) {
            read();
        }
    }

    void on_written(boost::system::error_code ec)
    {
        base::wipe(out_);
        if (is_closed()) {
            return;
        }
        if (ec) {
            write_failure_ = ec;
            // Stops receiving, even if the node could continue. Bytes that have arrived are still
            // read, and then the link ends.
            boost::system::error_code ignored;
            self().lowest().shutdown(boost::asio::socket_base::shutdown_receive, ignored);
            return;
        }
        writing_ = false;
        events_->on_link_written(setup_.node, std::exchange(out_, {}));
    }

    link_setup setup_;
    link_events* events_;
    bool writing_ = false;
    /// The error of the first failed write. Nothing is written after it.
    boost::system::error_code write_failure_;
    /// The bytes being written. They are wiped after each write, because the first writes contain a
    /// password.
    std::string out_;
    handler_memory read_memory_;
    handler_memory write_memory_;
    std::array<char, 16 * 1024> in_;
};

}  // namespace redlock::engine
