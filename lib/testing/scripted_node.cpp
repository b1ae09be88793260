#include <redlock/testing/scripted_node.hpp>

#include "testing/node_server.hpp"
#include "testing/wire.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <thread>

namespace redlock::testing {

namespace asio = boost::asio;

namespace {

/// An execution context with the thread that runs it.
class own_thread {
public:
    own_thread() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
    ~own_thread()
    {
        context_.stop();
        thread_.join();
    }
    own_thread(const own_thread&) = delete;
    own_thread& operator=(const own_thread&) = delete;

    [[nodiscard]] asio::any_io_executor executor() { return context_.get_executor(); }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::thread thread_;
};

}  // namespace

scripted_node::reply scripted_node::reply::error(std::string_view line)
{
    std::string one(line);
    std::ranges::replace_if(
        one, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    return reply(kind::bytes, wire::error(one));
}

scripted_node::reply scripted_node::reply::ok()
{
    return reply(kind::bytes, std::string(wire::ok));
}

scripted_node::reply scripted_node::reply::null()
{
    return reply(kind::null);
}

scripted_node::reply scripted_node::reply::integer(std::int64_t n)
{
    return reply(kind::bytes, wire::integer(n));
}

scripted_node::reply scripted_node::reply::bytes(std::string raw)
{
    return reply(kind::bytes, std::move(raw));
}

scripted_node::reply scripted_node::reply::command_lost()
{
    return reply(kind::command_lost);
}

scripted_node::reply scripted_node::reply::reply_lost()
{
    return reply(kind::reply_lost);
}

struct scripted_node::parts {
    explicit parts(const node_options& o)
        : own(std::make_unique<own_thread>()),
          server(std::make_shared<node_server>(own->executor())),
          options(o)
    {
        server->accept();
    }
    parts(const executor_type& ex, const node_options& o)
        : server(std::make_shared<node_server>(ex)),
          options(o)
    {
        server->accept();
    }
    ~parts() { server->close(); }
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;

    [[nodiscard]] std::string key(std::string_view resource) const
    {
        return options.key_prefix + std::string(resource);
    }

    std::unique_ptr<own_thread> own;
    std::shared_ptr<node_server> server;
    node_options options;
};

scripted_node::scripted_node(const node_options& options) : parts_(std::make_unique<parts>(options))
{}

scripted_node::scripted_node(const executor_type& ex, const node_options& options)
    : parts_(std::make_unique<parts>(ex, options))
{}

scripted_node::scripted_node(scripted_node&&) noexcept = default;
scripted_node& scripted_node::operator=(scripted_node&&) noexcept = default;
scripted_node::~scripted_node() = default;

std::string scripted_node::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

std::uint16_t scripted_node::port() const noexcept
{
    return parts_->server->port();
}

void scripted_node::hold(std::string_view resource, std::chrono::milliseconds ttl)
{
    parts_->server->write(parts_->key(resource), ttl);
}

bool scripted_node::held(std::string_view resource) const
{
    return parts_->server->has(parts_->key(resource));
}

void scripted_node::drop(std::string_view resource)
{
    parts_->server->lose(parts_->key(resource));
}

void scripted_node::answer(std::string_view command, reply r, std::size_t times)
{
    parts_->server->answer(command, std::move(r), times);
}

void scripted_node::freeze()
{
    parts_->server->freeze();
}

void scripted_node::thaw()
{
    parts_->server->thaw();
}

void scripted_node::delay(std::chrono::milliseconds span)
{
    parts_->server->delay(span);
}

void scripted_node::set_out_of_memory(bool on)
{
    parts_->server->set_out_of_memory(on);
}

void scripted_node::disconnect()
{
    parts_->server->disconnect();
}

void scripted_node::refuse()
{
    parts_->server->refuse();
}

void scripted_node::accept()
{
    parts_->server->accept();
}

void scripted_node::restart(keys left)
{
    parts_->server->restart(left);
}

void scripted_node::recover()
{
    parts_->server->recover();
}

std::vector<std::string> scripted_node::commands() const
{
    return parts_->server->commands();
}

void scripted_node::clear_commands()
{
    parts_->server->clear_commands();
}

std::size_t scripted_node::count(std::string_view command) const
{
    return parts_->server->count(command);
}

std::size_t scripted_node::count(std::string_view command, std::string_view resource) const
{
    return parts_->server->count(command, parts_->key(resource));
}

std::size_t scripted_node::connections() const
{
    return parts_->server->connections();
}

}  // namespace redlock::testing
