#include "support/certificates.hpp"
#include "support/masters.hpp"
#include "support/port.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/resp_client.hpp"
#include "support/run.hpp"
#include "support/scripted_server.hpp"
#include "support/server.hpp"
#include "support/temp_dir.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include <sys/socket.h>

namespace asio = boost::asio;
using namespace redlock::test;
using namespace std::chrono_literals;
using boost::system::error_code;

namespace {

using clock_type = std::chrono::steady_clock;

std::string read_file(const std::filesystem::path& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool gone(pid_t pid)
{
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    return stat.empty() || stat.find(") Z ") != std::string::npos;
}

/// The error of a socket call, or 0 if there was none.
template <class Function>
int error_of(Function&& function)
{
    try {
        function();
        return 0;
    } catch (const std::system_error& e) {
        return e.code().value();
    }
}

std::size_t keys(const server& of)
{
    return static_cast<std::size_t>(of.ask({"DBSIZE"}).integer);
}

/// The result of a TLS handshake and a PING, with the code of the failed verification, if there was
/// one.
struct tls_result {
    error_code error;
    long verification = X509_V_OK;
    std::string answer;
};

tls_result tls_ping(std::uint16_t port, const certificates& world, const std::string& name,
                    const identity* client = nullptr)
{
    asio::io_context context;
    asio::ssl::context tls(asio::ssl::context::tls_client);
    tls.load_verify_file(world.ca.certificate);
    if (client != nullptr) {
        tls.use_certificate_chain_file(client->certificate);
        tls.use_private_key_file(client->key, asio::ssl::context::pem);
    }
    asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
    stream.set_verify_mode(asio::ssl::verify_peer);
    stream.set_verify_callback(asio::ssl::host_name_verification(name));
    tls_result result;
    const auto talk = [&]() -> asio::awaitable<void> {
        co_await stream.lowest_layer().async_connect({asio::ip::address_v4::loopback(), port},
                                                     asio::use_awaitable);
        co_await stream.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
        co_await asio::async_write(stream, asio::buffer("PING\r\n", 6), asio::use_awaitable);
        result.answer.resize(7);
        co_await asio::async_read(stream, asio::buffer(result.answer), asio::use_awaitable);
    };
    try {
        run_task(context, talk());
    } catch (const boost::system::system_error& e) {
        result.error = e.code();
        result.answer.clear();
    }
    result.verification = SSL_get_verify_result(stream.native_handle());
    return result;
}

server_tls serving(const certificates& world, const identity& who)
{
    return {world.ca.certificate, who.certificate, who.key};
}

}  // namespace

TEST_CASE("a temporary folder is deleted with its object", "[support]")
{
    std::filesystem::path path;
    {
        const temp_dir folder;
        path = folder.path();
        std::ofstream(folder / "file") << "content";
        REQUIRE(std::filesystem::exists(path / "file"));
    }
    REQUIRE_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a wait ends with its condition or its bound", "[support]")
{
    REQUIRE_FALSE(wait_for([] { return false; }, 5ms));
    asio::io_context context;
    REQUIRE_FALSE(run_until(
        context, [] { return false; }, 5ms));

    int calls = 0;
    asio::post(context, [&] { asio::post(context, [&] { calls = 1; }); });
    asio::steady_timer later(context, 1h);
    later.async_wait([](error_code) {});
    REQUIRE(run_until(context, [&] { return calls == 1; }));
    REQUIRE_FALSE(run_out(context, 5ms));
    later.cancel();
    REQUIRE(run_out(context));

    std::atomic<bool> flag{false};
    std::thread other([&] { flag = true; });
    CHECK(run_until(context, [&] { return flag.load(); }));
    other.join();
}

TEST_CASE("a task runs to its result or its exception", "[support]")
{
    asio::io_context context;
    const auto answer = []() -> asio::awaitable<int> { co_return 42; };
    REQUIRE(run_task(context, answer()) == 42);
    const auto broken = []() -> asio::awaitable<void> {
        throw std::logic_error("broken");
        co_return;
    };
    REQUIRE_THROWS_AS(run_task(context, broken()), std::logic_error);
    const auto endless = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(context, 1h);
        co_await timer.async_wait(asio::use_awaitable);
    };
    REQUIRE_THROWS_AS(run_task(context, endless(), 5ms), std::runtime_error);
}

TEST_CASE("a child process runs with its environment and output and without the test's sockets",
          "[support]")
{
    const temp_dir folder;
    asio::io_context context;
    const asio::ip::tcp::acceptor inherited_by_a_plain_exec(context, {asio::ip::tcp::v4(), 0});
    process child("/bin/sh",
                  {"-c",
                   "echo $WORD; pwd; for i in 3 4 5 6 7 8 9; do "
                   "test -e /proc/$$/fd/$i && echo leaked; done; exit 3"},
                  {folder / "out", folder.path(), {"WORD=bird"}});
    REQUIRE(child.wait() == 3);
    REQUIRE_FALSE(child.running());
    REQUIRE(read_file(folder / "out") == "bird\n" + folder.path().native() + "\n");
    child.kill();
    REQUIRE_THROWS(child.stop());
    REQUIRE(error_of([] { process("/no/such/program", {}); }) == ENOENT);
}

TEST_CASE("a child process dies with its own children and ends by a signal even when stopped",
          "[support]")
{
    const temp_dir folder;
    process child("/bin/sh", {"-c", "sleep 1000 & echo $!; wait"}, {folder / "out", {}, {}});
    REQUIRE(wait_for([&] { return read_file(folder / "out").ends_with('\n'); }));
    const auto grandchild = static_cast<pid_t>(std::stol(read_file(folder / "out")));
    REQUIRE_FALSE(gone(grandchild));
    child.kill();
    REQUIRE(child.wait() == -SIGKILL);
    REQUIRE(wait_for([&] { return gone(grandchild); }));

    process second("/bin/sleep", {"1000"});
    second.stop();
    second.terminate();
    REQUIRE(second.wait() == -SIGTERM);
}

TEST_CASE("a child process ends with the thread that started it", "[support]")
{
    std::unique_ptr<process> child;
    std::thread([&] {
        child = std::make_unique<process>("/bin/sleep", std::vector<std::string>{"1000"});
    }).join();
    REQUIRE(child->wait() == -SIGKILL);
}

TEST_CASE("reserved ports differ and no outgoing connection takes them", "[support]")
{
    const reserved_port one;
    const reserved_port two;
    REQUIRE(one.number() != two.number());
    unsigned low = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low;
    REQUIRE(one.number() < low);
}

TEST_CASE("the second implementation of the protocol reads what it writes", "[support]")
{
    using namespace wire;
    const std::string nul_and_line_end("a\0\r\nb", 5);
    const auto text =
        aggregate('*', {status("OK"), error("ERR no"), integer(-7), bulk(nul_and_line_end), null(),
                        null3(), aggregate('%', {bulk("k"), integer(1)}), "#t\r\n"});
    for (std::size_t size = 0; size < text.size(); ++size) {
        REQUIRE_FALSE(parse_reply(std::string_view(text).substr(0, size)));
    }
    const auto all = parse_reply(text + "rest");
    REQUIRE(all);
    REQUIRE(all->size == text.size());
    REQUIRE(all->value.items[3].text == nul_and_line_end);
    REQUIRE(all->value.str() ==
            "[OK, -ERR no, -7, " + nul_and_line_end + ", (nil), (nil), [k, 1], true]");
    REQUIRE_THROWS(parse_reply("nonsense\r\n"));
    REQUIRE_THROWS(parse_reply("$1x\r\n"));
}

TEST_CASE("a server of each kind answers and ends with its object", "[support]")
{
    const auto kind = GENERATE(from_range(kinds()));
    pid_t pid = 0;
    std::filesystem::path folder;
    {
        server one({.kind = kind});
        pid = one.pid();
        folder = one.data().parent_path();
        REQUIRE(one.running());
        REQUIRE(one.command({"SET", "key", "value", "PX", "60000"}) == "OK");
        REQUIRE(one.get("key") == "value");
        REQUIRE(one.get("other") == std::nullopt);
        REQUIRE(one.exists("key"));
        REQUIRE(one.pttl("key") > 0ms);
        REQUIRE(one.pttl("other") == -2ms);
        REQUIRE(one.command({"NONSENSE"}).starts_with("-ERR"));
        REQUIRE(resp_client(one.port()).ask({"GET", "key"}).str() == "value");
        one.flush();
        REQUIRE_FALSE(one.exists("key"));
        const bool is_valkey = one.command({"INFO", "server"}).find("valkey") != std::string::npos;
        REQUIRE(is_valkey == (kind != flavour::redis));
    }
    REQUIRE(gone(pid));
    REQUIRE_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("a killed server is gone at once and restarts empty on its port", "[support]")
{
    server one;
    const auto port = one.port();
    const auto first = one.pid();
    one.command({"SET", "key", "value"});
    one.kill();
    REQUIRE_FALSE(one.running());
    REQUIRE(gone(first));
    REQUIRE(error_of([&] { resp_client{port}; }) == ECONNREFUSED);
    one.start();
    REQUIRE(one.port() == port);
    REQUIRE(one.pid() != first);
    REQUIRE(resp_client(port).ask({"PING"}).str() == "PONG");
    REQUIRE(keys(one) == 0);
    REQUIRE_THROWS_AS(one.start(), std::logic_error);
}

TEST_CASE("a server keeps data as its files and its kind of end imply", "[support]")
{
    server one({.files = persistence::append_only});
    one.command({"SET", "key", "value"});
    one.restart();
    REQUIRE(one.exists("key"));
    one.restart(memory::lost);
    REQUIRE_FALSE(one.exists("key"));

    one.kill();
    one.options().files = persistence::snapshot;
    one.start(memory::lost);
    one.command({"SET", "key", "value"});
    one.terminate();
    REQUIRE_FALSE(one.running());
    one.start();
    REQUIRE(one.exists("key"));
    one.command({"SET", "later", "value"});
    one.restart();
    REQUIRE(one.exists("key"));
    REQUIRE_FALSE(one.exists("later"));
}

TEST_CASE("a stopped server accepts connections and does not answer until it continues",
          "[support]")
{
    server one;
    one.stop();
    REQUIRE(one.running());
    REQUIRE_FALSE(one.responsive());
    REQUIRE(read_file("/proc/" + std::to_string(one.pid()) + "/stat").find(") T ") !=
            std::string::npos);
    resp_client client(one.port());
    client.send(wire::command({"PING"}));
    auto answer = std::async(std::launch::async, [&] { return client.read().str(); });
    // The server doesn't answer however long the test waits, so a slow machine changes nothing.
    REQUIRE(answer.wait_for(50ms) == std::future_status::timeout);
    one.cont();
    REQUIRE(one.responsive());
    REQUIRE(answer.get() == "PONG");
    one.stop();
    one.kill();
    REQUIRE_FALSE(one.running());
}

TEST_CASE("a server asks for its password and its URL carries one", "[support]")
{
    const server one({.password = "p@ss:/word"});
    REQUIRE(resp_client(one.port()).ask({"PING"}).text.starts_with("NOAUTH"));
    REQUIRE(one.command({"PING"}) == "PONG");
    const auto at = "127.0.0.1:" + std::to_string(one.port());
    REQUIRE(one.url() == "redis://" + at);
    REQUIRE(one.url({}, "p@ss:/word", 3) == "redis://:p%40ss%3A%2Fword@" + at + "/3");
    REQUIRE(one.unix_url("me", "pw", 2) == "unix://me:pw@" + one.socket().native() + "?db=2");
}

TEST_CASE("a server can run without TCP", "[support]")
{
    const server one({.tcp = false});
    REQUIRE(one.port() == 0);
    REQUIRE(one.url() == "unix://" + one.socket().native());
    REQUIRE(resp_client(one.socket()).ask({"PING"}).str() == "PONG");
}

TEST_CASE("a server that is loading counts as answering but not as usable", "[support]")
{
    server one({.files = persistence::snapshot,
                .arguments = {"--key-load-delay", "20000",
                              "--loading-process-events-interval-bytes", "1024"}});
    one.command({"DEBUG", "POPULATE", "2000", "key", "100"});
    one.command({"SAVE"});
    one.restart(memory::kept, readiness::answering);
    REQUIRE(one.command({"GET", "key:1"}).starts_with("-LOADING"));
}

TEST_CASE("a server whose port another program takes before its start takes another port",
          "[support]")
{
    asio::io_context context;
    const auto take = [&](std::uint16_t port) {
        return asio::ip::tcp::acceptor(context, {asio::ip::address_v4::loopback(), port});
    };
    server one({}, server::not_started{.keeps_ports = false});
    const auto wanted = one.port();
    const auto taken = take(wanted);
    one.start();
    REQUIRE(one.port() != wanted);
    REQUIRE(resp_client(one.port()).ask({"PING"}).str() == "PONG");

    // The server's clients know the port by now.
    one.kill();
    const auto taken_later = take(one.port());
    REQUIRE_THROWS_AS(one.start(), std::runtime_error);

    server other({}, server::not_started{});
    const auto taken_too = take(other.port());
    REQUIRE_THROWS_AS(other.start(), std::runtime_error);
}

TEST_CASE("a server that cannot start reports why", "[support]")
{
    try {
        const server one({.arguments = {"--no-such-option", "1"}});
        FAIL("it started");
    } catch (const std::runtime_error& e) {
        REQUIRE(std::string(e.what()).find("no-such-option") != std::string::npos);
    }
}

TEST_CASE("nodes are independent and absent nodes are not counted", "[support]")
{
    masters five(5);
    REQUIRE(five.urls().size() == 5);
    for (std::size_t i = 0; i < five.size(); ++i) {
        five[i].command({"SET", "key", std::to_string(i)});
    }
    REQUIRE(five.count("key") == 5);
    REQUIRE(five[3].get("key") == "3");
    five[0].kill();
    five[1].stop();
    REQUIRE(five.count("key") == 3);
    five.flush();
    five[1].cont();
    REQUIRE(five.count("key") == 1);
}

TEST_CASE("each certificate is trusted or refused for the reason it was made for", "[support]")
{
    const certificates world;
    server one({.tls = serving(world, world.server)});
    for (const auto* name : {"localhost", "127.0.0.1"}) {
        const auto result = tls_ping(one.tls_port(), world, name);
        CHECK(result.error == error_code());
        CHECK(result.answer == "+PONG\r\n");
    }
    REQUIRE(one.tls_url("localhost") == "rediss://localhost:" + std::to_string(one.tls_port()));

    const std::array refused{
        std::pair(&world.expired, X509_V_ERR_CERT_HAS_EXPIRED),
        std::pair(&world.not_yet_valid, X509_V_ERR_CERT_NOT_YET_VALID),
        std::pair(&world.untrusted, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY),
    };
    for (const auto& [who, why] : refused) {
        one.kill();
        one.options().tls = serving(world, *who);
        one.start();
        const auto result = tls_ping(one.tls_port(), world, "localhost");
        CHECK(result.error.failed());
        CHECK(result.verification == why);
    }

    one.kill();
    one.options().tls = serving(world, world.wrong_name);
    one.start();
    CHECK(tls_ping(one.tls_port(), world, "elsewhere.example").answer == "+PONG\r\n");
    CHECK(tls_ping(one.tls_port(), world, "localhost").error.failed());
}

TEST_CASE("a server can ask for the client's certificate", "[support]")
{
    const certificates world;
    auto tls = serving(world, world.server);
    tls.clients_need_certificate = true;
    const server one({.tls = tls});
    CHECK(tls_ping(one.tls_port(), world, "localhost", &world.client).answer == "+PONG\r\n");
    CHECK(tls_ping(one.tls_port(), world, "localhost").answer.empty());
}

TEST_CASE("a script that obeys answers a handshake and records the commands", "[support]")
{
    scripted_server node([](scripted_connection& c) { return c.serve(); });
    {
        resp_client client(node.port());
        const auto hello = client.ask({"HELLO", "3"});
        REQUIRE(hello.type == reply::kind::map);
        REQUIRE(client.ask({"SCRIPT", "LOAD", "return 1"}).str() ==
                "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
        REQUIRE(client.ask({"set", "k", "v", "NX", "PX", "10"}).str() == "OK");
        REQUIRE(node.connections() == 1);
        REQUIRE(node.open_connections() == 1);
    }
    REQUIRE(wait_for([&] { return node.open_connections() == 0; }));
    REQUIRE(node.commands().size() == 3);
    REQUIRE(node.commands("SET") == std::vector<arguments>{{"set", "k", "v", "NX", "PX", "10"}});
    REQUIRE(node.failures().empty());
}

TEST_CASE("a script can answer selected commands and byte by byte and without a request",
          "[support]")
{
    std::atomic<bool> go{false};
    scripted_server node([&](scripted_connection& c) -> asio::awaitable<void> {
        co_await c.send(wire::error("ERR max number of clients reached"));
        const auto first = co_await c.read_command();
        co_await c.send_split(wire::bulk(first.at(1)), 1);
        co_await c.read_bytes(6);
        co_await c.until([&] { return go.load(); });
        co_await c.send(wire::status("at last"));
        co_await c.serve([](const arguments& command) -> std::optional<std::string> {
            return command.at(0) == "A" ? std::nullopt : std::optional(wire::bulk(command.at(0)));
        });
    });
    resp_client client(node.port());
    REQUIRE(client.read().is_error());
    REQUIRE(client.ask({"ECHO", "hello"}).str() == "hello");
    client.send("PING\r\n");
    go = true;
    REQUIRE(client.read().str() == "at last");
    client.send(wire::command({"A"}));
    REQUIRE(client.ask({"B"}).str() == "B");
    REQUIRE(node.commands().size() == 3);
}

TEST_CASE("a script can end a connection in three ways", "[support]")
{
    scripted_server node([](scripted_connection& c) -> asio::awaitable<void> {
        co_await c.read_command();
        switch (c.index()) {
            case 0: c.reset(); break;
            case 1: c.close(); break;
            default:
                c.half_close();
                co_await c.read_command();
                break;
        }
    });
    const auto ask = [&] { resp_client(node.port()).ask({"PING"}); };
    REQUIRE(error_of(ask) == ECONNRESET);
    REQUIRE_THROWS_AS(ask(), std::runtime_error);

    resp_client half(node.port());
    REQUIRE_THROWS_AS(half.ask({"FIRST"}), std::runtime_error);
    half.send(wire::command({"SECOND"}));
    REQUIRE(wait_for([&] { return node.commands("SECOND").size() == 1; }));
    REQUIRE(node.failures().empty());
}

TEST_CASE("a script can send without end and its exceptions are kept", "[support]")
{
    scripted_server node([](scripted_connection& c) -> asio::awaitable<void> {
        if (c.index() == 1) {
            throw std::runtime_error("as it should");
        }
        co_await c.send_for_ever("+never a line end");
    });
    asio::io_context context;
    asio::ip::tcp::socket peer(context);
    peer.connect({asio::ip::address_v4::loopback(), node.port()});
    std::vector<char> bytes(1024 * 1024);
    REQUIRE(asio::read(peer, asio::buffer(bytes)) == bytes.size());
    peer.close();
    REQUIRE(wait_for([&] { return node.open_connections() == 0; }));
    REQUIRE(node.failures().empty());
    resp_client second(node.port());
    REQUIRE_THROWS(second.read());
    REQUIRE(wait_for([&] { return node.failures() == std::vector<std::string>{"as it should"}; }));
}

TEST_CASE("a scripted server runs on the test's context and refuses and accepts connections",
          "[support]")
{
    asio::io_context context;
    std::optional<scripted_server> node(
        std::in_place, context.get_executor(),
        [](scripted_connection& c) -> asio::awaitable<void> { co_await c.ignore(); });
    const asio::ip::tcp::endpoint there(asio::ip::address_v4::loopback(), node->port());
    asio::ip::tcp::socket first(context);
    first.connect(there);
    REQUIRE(run_until(context, [&] { return node->open_connections() == 1; }));
    node->refuse();
    error_code ec;
    asio::ip::tcp::socket second(context);
    second.connect(there, ec);
    REQUIRE(ec == asio::error::connection_refused);
    node->accept();
    asio::ip::tcp::socket third(context);
    third.connect(there);
    REQUIRE(run_until(context, [&] { return node->connections() == 2; }));
    node.reset();
    REQUIRE(run_out(context));
    std::array<char, 1> byte{};
    first.read_some(asio::buffer(byte), ec);
    REQUIRE(ec == asio::error::eof);
}

TEST_CASE("a proxy passes bytes unchanged until the test sets a delay", "[support]")
{
    const server one;
    proxy network(one.port());
    resp_client client(network.port());
    const std::string large(300'000, 'x');
    REQUIRE(client.ask({"ECHO", large}).text == large);
    REQUIRE(network.bytes(direction::down) > large.size());
    for (const auto way : {direction::up, direction::down}) {
        network.delay(way, 30ms);
        const auto begin = clock_type::now();
        REQUIRE(client.ask({"PING"}).str() == "PONG");
        REQUIRE(clock_type::now() - begin >= 30ms);
        network.delay(way, 0ms);
    }
}

TEST_CASE("a held direction keeps all bytes until the test releases it", "[support]")
{
    const server one;
    proxy network(one.port());
    resp_client client(network.port());
    network.hold(direction::down);
    client.send(wire::command({"SET", "key", "value"}));
    REQUIRE(wait_for([&] { return one.exists("key"); }));
    REQUIRE(network.bytes(direction::down) == 0);
    network.hold(direction::up);
    const auto passed = network.bytes(direction::up);
    client.send(wire::command({"SET", "other", "value"}));
    network.release(direction::down);
    REQUIRE(client.read().str() == "OK");
    REQUIRE_FALSE(one.exists("other"));
    REQUIRE(network.bytes(direction::up) == passed);
    network.release(direction::up);
    REQUIRE(client.read().str() == "OK");
    REQUIRE(one.exists("other"));
}

TEST_CASE("a held direction makes its sender wait", "[support]")
{
    scripted_server node(
        [](scripted_connection& c) -> asio::awaitable<void> { co_await c.ignore(); });
    proxy network(node.port());
    network.hold(direction::up);
    asio::io_context context;
    asio::ip::tcp::socket peer(context);
    peer.connect({asio::ip::address_v4::loopback(), network.port()});
    peer.non_blocking(true);
    const std::vector<char> bytes(1024 * 1024);
    error_code ec;
    std::size_t sent = 0;
    while (!ec && sent < 256 * bytes.size()) {
        sent += peer.write_some(asio::buffer(bytes), ec);
    }
    REQUIRE(ec == asio::error::would_block);
    network.release(direction::up);
    REQUIRE(wait_for([&] { return network.bytes(direction::up) == sent; }));
}

TEST_CASE("a proxy splits into pieces without changing them", "[support]")
{
    const server one;
    proxy network(one.port());
    resp_client client(network.port());
    network.split(direction::down, 1, 2ms);
    const auto begin = clock_type::now();
    REQUIRE(client.ask({"PING"}).str() == "PONG");
    REQUIRE(clock_type::now() - begin >= 6 * 2ms);
    network.split(direction::down, proxy::no_limit);
    network.split(direction::up, 1);
    REQUIRE(client.ask({"ECHO", "a longer argument"}).text == "a longer argument");
}

TEST_CASE("a proxy cuts a connection after an exact number of bytes", "[support]")
{
    const server one;
    proxy network(one.port());
    for (std::size_t count = 0; count < 7; ++count) {
        for (const auto how : {ending::fin, ending::rst}) {
            network.cut_after(direction::down, count, how);
            asio::io_context context;
            asio::ip::tcp::socket peer(context);
            peer.connect({asio::ip::address_v4::loopback(), network.port()});
            asio::write(peer, asio::buffer("PING\r\n", 6));
            std::string answer(16, ' ');
            error_code ec;
            answer.resize(asio::read(peer, asio::buffer(answer), ec));
            CHECK(ec == (how == ending::fin ? error_code(asio::error::eof)
                                            : error_code(asio::error::connection_reset)));
            CHECK(std::string_view("+PONG\r\n").starts_with(answer));
            CHECK(answer.size() == count);
        }
    }
    network.cut_never();
    REQUIRE(resp_client(network.port()).ask({"PING"}).str() == "PONG");
}

TEST_CASE("a proxy stops one direction after a number of bytes while the other continues",
          "[support]")
{
    const server one;
    proxy network(one.port());
    const bool is_told = GENERATE(false, true);
    network.stop_after(direction::down, 3, is_told);
    asio::io_context context;
    asio::ip::tcp::socket peer(context);
    peer.connect({asio::ip::address_v4::loopback(), network.port()});
    asio::write(peer, asio::buffer("PING\r\n", 6));
    std::string answer(3, ' ');
    asio::read(peer, asio::buffer(answer));
    CHECK(answer == "+PO");
    network.cut_never();
    asio::write(peer, asio::buffer("SET key value\r\n", 15));
    CHECK(wait_for([&] { return one.exists("key"); }));
    peer.non_blocking(true);
    error_code ec;
    CHECK(peer.read_some(asio::buffer(answer), ec) == 0);
    CHECK(ec == (is_told ? error_code(asio::error::eof) : error_code(asio::error::would_block)));
    peer.close();
    CHECK(wait_for([&] { return network.open_connections() == 0; }));
}

TEST_CASE("a proxy ends connections and refuses new ones and accepts again", "[support]")
{
    server one;
    proxy network(one.port());
    resp_client client(network.port());
    client.ask({"PING"});
    REQUIRE(network.open_connections() == 1);
    network.refuse();
    REQUIRE(error_of([&] { resp_client{network.port()}; }) == ECONNREFUSED);
    REQUIRE(client.ask({"PING"}).str() == "PONG");
    network.cut(ending::rst);
    REQUIRE(error_of([&] { (void)client.read(); }) == ECONNRESET);
    REQUIRE(network.open_connections() == 0);
    network.accept();
    REQUIRE(resp_client(network.port()).ask({"PING"}).str() == "PONG");
    REQUIRE(network.connections() == 2);

    resp_client last(network.port());
    last.ask({"PING"});
    one.kill();
    REQUIRE_THROWS(last.read());
    REQUIRE_THROWS(resp_client(network.port()).ask({"PING"}));
}

TEST_CASE("a proxy half-opens a connection: one side sees the end and the other sees silence",
          "[support]")
{
    const server one;
    proxy network(one.port());
    {
        resp_client client(network.port());
        client.ask({"PING"});
        network.sever(direction::down);
        REQUIRE(error_of([&] { (void)client.read(); }) == ECONNRESET);
        REQUIRE(network.open_connections() == 1);
        network.cut(ending::rst);
    }
    {
        resp_client client(network.port());
        client.ask({"PING"});
        const auto passed = network.bytes(direction::up);
        network.sever(direction::up);
        client.send(wire::command({"SET", "key", "value"}));
        REQUIRE(network.open_connections() == 1);
        REQUIRE(network.bytes(direction::up) == passed);
    }
    REQUIRE(wait_for([&] { return network.open_connections() == 0; }));
    REQUIRE_FALSE(one.exists("key"));
    REQUIRE(resp_client(network.port()).ask({"PING"}).str() == "PONG");
}

TEST_CASE("a proxy corrupts the rest of a connection", "[support]")
{
    const server one;
    proxy network(one.port());
    for (const auto way : {direction::up, direction::down}) {
        const auto passed = network.bytes(way);
        resp_client client(network.port());
        client.ask({"PING"});
        network.spoil(way, "~~");
        const auto before = network.bytes(way);
        REQUIRE(before > passed);
        client.send(wire::command({"SET", "key", "value"}));
        const auto sent = way == direction::up ? wire::command({"SET", "key", "value"}).size() : 5;
        REQUIRE(wait_for([&] { return network.bytes(way) == before + sent / 2 + 2; }));
        REQUIRE(one.exists("key") == (way == direction::down));
    }
    REQUIRE(resp_client(network.port()).ask({"PING"}).str() == "PONG");
}
