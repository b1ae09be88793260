#include "examples/program.hpp"
#include "support/masters.hpp"
#include "support/port.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch_test_macros.hpp>

#include <future>
#include <string>

using namespace redlock::test;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// What the server answers to a line, once it listens.
std::string ask(const reserved_port& port, const std::string& line)
{
    asio::io_context context;
    tcp::socket socket(context);
    const tcp::endpoint server(asio::ip::address_v4::loopback(), port.number());
    const bool connected = wait_for([&] {
        boost::system::error_code error;
        socket.close();
        socket.connect(server, error);
        return !error;
    });
    if (!connected) {
        return "nobody listens";
    }
    asio::write(socket, asio::buffer(line + '\n'));
    std::string answer;
    boost::system::error_code error;
    asio::read(socket, asio::dynamic_buffer(answer), error);
    return answer;
}

}  // namespace

TEST_CASE("the tutorial's server works for longer than a ttl, and says who is in the way",
          "[examples]")
{
    const masters nodes(3);
    const reserved_port port;
    program server("tutorial", with({std::to_string(port.number())}, nodes.urls()));
    auto first = std::async(std::launch::async, [&] { return ask(port, "42 packed"); });
    REQUIRE(wait_for([&] { return nodes.count("orders/42") >= 2; }));
    const auto second = ask(port, "42 sent");
    CAPTURE(second);
    CHECK(second.starts_with("no lock: "));
    CHECK(second.find("its holder has it for ") != std::string::npos);
    CHECK(first.get().starts_with("written with token "));
    REQUIRE(wait_for([&] { return nodes.count("orders/42") == 0; }));
    server.process().terminate();
    CHECK(server.process().wait() == 0);
}
