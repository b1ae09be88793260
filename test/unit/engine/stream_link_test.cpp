#include "engine/stream_link.hpp"
#include "support/allocation_count.hpp"
#include "support/run.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;

namespace {

using heard = std::vector<std::string>;

using unix_stream = boost::asio::local::stream_protocol::socket;

class noted_events final : public engine::link_events {
public:
    void on_link_handshaking(unsigned) override {}
    void on_link_up(unsigned) override {}
    void on_link_bytes(unsigned, std::string_view bytes) override { heard.emplace_back(bytes); }
    void on_link_written(unsigned, std::string&& buffer) override
    {
        ++written;
        used = std::move(buffer);
    }
    void on_link_down(unsigned, std::string_view reason) override
    {
        heard.push_back("down: " + std::string(reason));
    }

    unsigned written = 0;
    std::string used;
    std::vector<std::string> heard;
};

/// A link over a socket that is already connected.
class ready_link final : public engine::stream_link<ready_link> {
public:
    ready_link(const engine::link_setup& s, unix_stream socket)
        : stream_link(s),
          socket_(std::move(socket))
    {}

    void start() override { up(); }
    [[nodiscard]] unix_stream& stream() noexcept { return socket_; }
    [[nodiscard]] unix_stream& lowest() noexcept { return socket_; }
    void stop_connecting() noexcept {}

private:
    unix_stream socket_;
};

struct connected_link {
    connected_link()
    {
        unix_stream mine(context);
        boost::asio::local::connect_pair(mine, theirs);
        l = std::make_shared<ready_link>(
            engine::link_setup{context.get_executor(), &events, 0, nullptr, nullptr},
            std::move(mine));
    }

    boost::asio::io_context context;
    unix_stream theirs{context};
    noted_events events;
    std::shared_ptr<ready_link> l;
};

bool is_zero(const char* at, std::size_t size)
{
    return std::all_of(at, at + size, [](char c) { return c == '\0'; });
}

}  // namespace

TEST_CASE("a link wipes written bytes before it returns their buffer", "[engine]")
{
    connected_link it;
    std::string first = "AUTH somebody s3cr3t-PASSWORD, and more than a string holds within itself";
    const std::size_t size = first.size();
    const char* const at = first.data();
    it.l->write(std::move(first));
    CHECK_FALSE(is_zero(at, size));
    it.context.run();
    REQUIRE(it.events.written == 1);
    CHECK(is_zero(at, size));
    CHECK(it.events.used.empty());
    CHECK(it.events.used.data() == at);
}

TEST_CASE("a closed link wipes bytes that are not completely written", "[engine]")
{
    connected_link it;
    // More than the socket takes, so that the write is unfinished when the link ends.
    std::string bytes(900 * 1024, 's');
    it.l->stream().set_option(boost::asio::socket_base::send_buffer_size(4096));
    const std::size_t size = bytes.size();
    const char* const at = bytes.data();
    it.l->write(std::move(bytes));
    it.context.poll();
    REQUIRE(it.l->is_writing());
    it.l->close();
    it.context.restart();
    it.context.run();
    CHECK(it.events.written == 0);
    CHECK(is_zero(at, size));
}

TEST_CASE("a destroyed context wipes bytes that are not completely written", "[engine]")
{
    constexpr std::string_view secret = "s3cr3t-PASSWORD of a link that nobody closed";
    const test::freed_with freed(secret);
    {
        connected_link it;
        std::string bytes(900 * 1024, 's');
        bytes.replace(0, secret.size(), secret);
        it.l->stream().set_option(boost::asio::socket_base::send_buffer_size(4096));
        it.l->write(std::move(bytes));
        it.l.reset();
        it.context.poll();
    }
    CHECK(freed.blocks() == 0);
}

TEST_CASE("a link delivers the node's last bytes whichever operation sees the end first",
          "[engine]")
{
    connected_link it;
    const std::string said = "-ERR max number of clients reached\r\n";
    boost::asio::write(it.theirs, boost::asio::buffer(said));
    it.theirs.close();
    SECTION("the write")
    {
        it.l->write("HELLO");
        it.l->start();
        CHECK(it.l->is_writing());
        it.context.run();
        CHECK(it.events.heard == heard{said, "down: Broken pipe"});
        CHECK(it.l->is_writing());
    }
    SECTION("the read")
    {
        it.l->start();
        it.context.run();
        CHECK(it.events.heard == heard{said, "down: End of file"});
    }
    CHECK(it.events.written == 0);
}

TEST_CASE("a link ends with a failed write even if the node could continue", "[engine]")
{
    connected_link it;
    it.l->start();
    it.context.poll();
    it.l->stream().shutdown(boost::asio::socket_base::shutdown_send);
    it.l->write("PING");
    it.context.run_for(test::patience);
    CHECK(it.events.heard == heard{"down: Broken pipe"});
}
