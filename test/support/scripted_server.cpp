#include "support/scripted_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::test {

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;

namespace {

std::string upper(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    return text;
}

std::string sha1_digits(const std::string& text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
    std::string result;
    for (unsigned i = 0; i < size; ++i) {
        constexpr std::string_view digits = "0123456789abcdef";
        result += {digits[digest[i] >> 4], digits[digest[i] & 15]};
    }
    return result;
}

asio::awaitable<void> pause_for(std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(use_awaitable);
}

/// The value of a fencing counter in the answer: the seed, the number it is aligned to, or a fixed
/// value after an increment. Empty for other commands.
std::optional<std::int64_t> counter_of(const arguments& command)
{
    const auto at = std::find_if(command.begin(), command.end(), [](const std::string& word) {
        return word.ends_with(":fencing");
    });
    if (at == command.end() || command.size() < 2) {
        return std::nullopt;
    }
    const auto name = upper(command.front());
    if (name == "INCR") {
        return 1'700'000'000'000'000;
    }
    if (name != "EVAL" && name != "EVALSHA") {
        return std::nullopt;
    }
    // In an alignment the token of the lock follows the counter.
    const auto after = command.at(2) == "2" ? 2 : 1;
    return command.end() - at > after ? std::optional(std::stoll(*(at + after))) : std::nullopt;
}

}  // namespace

namespace {

/// The answer of a node whose queue is empty but for the caller; empty: no script of a queue.
std::optional<std::string> answer_of_queue(const arguments& command)
{
    using namespace wire;
    const auto is_queue = [](const std::string& word) { return word.ends_with(":redlock:queue"); };
    if (std::none_of(command.begin(), command.end(), is_queue)) {
        return std::nullopt;
    }
    switch (command.size()) {
        case 9:  // the question for a place
            return aggregate('*', {integer(0), bulk(""), integer(60'000),
                                   integer(1'700'000'000'000'000), integer(0)});
        case 6: return integer(0);  // the end of a ticket
        default: return aggregate('*', {integer(0), integer(-1)});
    }
}

/// Whether the command releases or extends several locks. Then a second owner token follows the
/// first one, and in no other script.
bool is_batch(const arguments& command)
{
    constexpr std::size_t token_size = 40;
    if (command.size() < 5 || !upper(command.front()).starts_with("EVAL")) {
        return false;
    }
    const std::size_t second = 3 + std::stoul(command[2]) + 1;
    return second < command.size() && command[second].size() == token_size;
}

}  // namespace

std::string obedient(const arguments& command)
{
    using namespace wire;
    const auto name = command.empty() ? std::string() : upper(command.front());
    if (is_batch(command)) {
        return bulk(std::string(std::stoul(command.at(2)), '1'));
    }
    if (name == "HELLO") {
        return aggregate(
            '%', {bulk("server"), bulk("redis"), bulk("version"), bulk("7.0.15"), bulk("proto"),
                  integer(3), bulk("id"), integer(1), bulk("mode"), bulk("standalone"),
                  bulk("role"), bulk("master"), bulk("modules"), aggregate('*', {})});
    }
    if (name == "ROLE") {
        return aggregate('*', {bulk("master"), integer(0), aggregate('*', {})});
    }
    if (name == "PING") {
        return status("PONG");
    }
    if (name == "SCRIPT" && command.size() == 3) {
        return bulk(sha1_digits(command.back()));
    }
    if (name == "COMMAND") {
        return aggregate(
            '*', std::vector(command.size() - std::min(command.size(), std::size_t{2}), null3()));
    }
    if (const auto counted = counter_of(command)) {
        return integer(*counted);
    }
    if (auto of_queue = answer_of_queue(command)) {
        return *std::move(of_queue);
    }
    if (name == "EVAL" || name == "EVALSHA" || name == "DEL") {
        return integer(1);
    }
    if (name == "GET") {
        return null3();
    }
    if (name == "GETRANGE") {
        return bulk("");
    }
    if (name == "PTTL") {
        return integer(-2);
    }
    return status("OK");
}

scripted_connection::scripted_connection(tcp::socket socket, std::size_t index,
                                         std::function<void(arguments)> record)
    : socket_(std::move(socket)),
      index_(index),
      record_(std::move(record))
{}

asio::awaitable<void> scripted_connection::receive()
{
    std::array<char, 16 * 1024> chunk;
    const auto size = co_await socket_.async_read_some(asio::buffer(chunk), use_awaitable);
    buffer_.append(chunk.data(), size);
}

asio::awaitable<arguments> scripted_connection::read_command()
{
    for (;;) {
        if (auto complete = parse_reply(buffer_)) {
            arguments command;
            for (auto& item : complete->value.items) {
                if (item.type != reply::kind::bulk) {
                    throw std::runtime_error("a command with something else than bulk strings");
                }
                command.push_back(std::move(item.text));
            }
            buffer_.erase(0, complete->size);
            record_(command);
            co_return command;
        }
        co_await receive();
    }
}

asio::awaitable<std::string> scripted_connection::read_bytes(std::size_t count)
{
    while (buffer_.size() < count) {
        co_await receive();
    }
    auto bytes = buffer_.substr(0, count);
    buffer_.erase(0, count);
    co_return bytes;
}

asio::awaitable<void> scripted_connection::serve(answerer answer)
{
    for (;;) {
        const auto command = co_await read_command();
        auto bytes = answer(command);
        if (bytes) {
            co_await send(std::move(*bytes));
        }
    }
}

asio::awaitable<void> scripted_connection::send(std::string bytes)
{
    co_await asio::async_write(socket_, asio::buffer(bytes), use_awaitable);
}

asio::awaitable<void> scripted_connection::send_split(std::string bytes, std::size_t piece,
                                                      std::chrono::milliseconds pause)
{
    for (std::size_t i = 0; i < bytes.size(); i += piece) {
        co_await send(bytes.substr(i, piece));
        co_await pause_for(pause);
    }
}

asio::awaitable<void> scripted_connection::send_for_ever(std::string bytes)
{
    for (;;) {
        co_await asio::async_write(socket_, asio::buffer(bytes), use_awaitable);
    }
}

asio::awaitable<void> scripted_connection::until(std::function<bool()> condition)
{
    while (socket_.is_open() && !condition()) {
        co_await pause_for(std::chrono::milliseconds(1));
    }
}

asio::awaitable<void> scripted_connection::ignore()
{
    for (;;) {
        co_await receive();
        buffer_.clear();
    }
}

void scripted_connection::half_close()
{
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void scripted_connection::reset()
{
    test::reset(socket_);
}

void scripted_connection::close()
{
    boost::system::error_code ignored;
    socket_.close(ignored);
}

/// Shared with the scripts, which may still run when the server object has ended.
struct scripted_server::state : std::enable_shared_from_this<state> {
    state(asio::any_io_executor e, script s)
        : executor(std::move(e)),
          listening(std::make_shared<listener>(executor)),
          run(std::move(s))
    {}

    void open()
    {
        listening->open([self = weak_from_this()](tcp::socket peer) {
            if (const auto here = self.lock()) {
                asio::co_spawn(here->executor, converse(here, std::move(peer)), asio::detached);
            }
        });
    }

    void close()
    {
        listening->close();
        for (const auto& each : alive) {
            each->close();
        }
    }

    /// A whole connection; the coroutine frame holds its data.
    static asio::awaitable<void> converse(std::shared_ptr<state> self, tcp::socket peer)
    {
        const auto connection = self->begin(std::move(peer));
        std::string failure;
        try {
            co_await self->run(*connection);
        } catch (const boost::system::system_error&) {
            // the peer has gone, or the server has
        } catch (const std::exception& e) {
            failure = e.what();
        }
        connection->close();
        const std::lock_guard lock(self->mutex);
        std::erase(self->alive, connection);
        if (!failure.empty()) {
            self->failures.push_back(std::move(failure));
        }
    }

    std::shared_ptr<scripted_connection> begin(tcp::socket peer)
    {
        const std::lock_guard lock(mutex);
        std::shared_ptr<scripted_connection> connection(
            new scripted_connection(std::move(peer), accepted++, [this](arguments command) {
                const std::lock_guard again(mutex);
                commands.push_back(std::move(command));
            }));
        alive.push_back(connection);
        return connection;
    }

    asio::any_io_executor executor;
    std::shared_ptr<listener> listening;
    script run;

    /// Guards the members below, which the executor writes and the test reads.
    mutable std::mutex mutex;
    std::size_t accepted = 0;
    std::vector<std::shared_ptr<scripted_connection>> alive;
    std::vector<arguments> commands;
    std::vector<std::string> failures;
};

scripted_server::scripted_server(asio::any_io_executor executor, script per_connection)
    : state_(std::make_shared<state>(std::move(executor), std::move(per_connection)))
{
    state_->open();
}

scripted_server::scripted_server(script per_connection)
    : own_(std::make_unique<background>()),
      state_(std::make_shared<state>(own_->executor(), std::move(per_connection)))
{
    control([this] { state_->open(); });
}

scripted_server::~scripted_server()
{
    control([this] { state_->close(); });
}

template <class Function>
void scripted_server::control(Function function)
{
    if (own_) {
        own_->call(std::move(function));
    } else {
        function();
    }
}

std::uint16_t scripted_server::port() const noexcept
{
    return state_->listening->port();
}

std::string scripted_server::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

std::size_t scripted_server::connections() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->accepted;
}

std::size_t scripted_server::open_connections() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->alive.size();
}

std::vector<arguments> scripted_server::commands() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->commands;
}

std::vector<arguments> scripted_server::commands(const std::string& name) const
{
    auto result = commands();
    std::erase_if(result, [wanted = upper(name)](const arguments& command) {
        return command.empty() || upper(command.front()) != wanted;
    });
    return result;
}

std::vector<std::string> scripted_server::failures() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->failures;
}

void scripted_server::refuse()
{
    control([this] { state_->listening->close(); });
}

void scripted_server::accept()
{
    control([this] { state_->open(); });
}

}  // namespace redlock::test
