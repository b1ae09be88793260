#include "cli/doctor/connection.hpp"

#include "base/wipe.hpp"
#include "engine/environment.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

doctor_connection::doctor_connection(const asio::any_io_executor& executor,
                                     const base::address& address,
                                     const std::shared_ptr<engine::tls_context>& tls,
                                     std::shared_ptr<engine::known_addresses> addresses)
    : timer_(executor)
{
    engine::link_setup setup;
    setup.executor = executor;
    setup.events = this;
    setup.address = &address;
    setup.addresses = std::move(addresses);
    link_ = engine::make_system_environment()->make_link(setup, tls);
}

doctor_connection::~doctor_connection()
{
    link_->close();
    base::wipe(out_);
}

void doctor_connection::allow(std::chrono::nanoseconds span)
{
    deadline_ = std::chrono::steady_clock::now() + span;
}

asio::awaitable<void> doctor_connection::connect()
{
    link_->start();
    while (!is_up_) {
        co_await something();
    }
}

void doctor_connection::send()
{
    if (!out_.empty() && is_up_ && !link_->is_writing()) {
        link_->write(std::exchange(out_, {}));
    }
}

asio::awaitable<resp::reply> doctor_connection::next()
{
    for (;;) {
        resp::reply r;
        switch (reader_.next(r)) {
            case resp::read_status::ready:
                if (!r.is_push()) {
                    co_return r;
                }
                continue;
            case resp::read_status::error:
                throw no_answer(std::string(foreign_protocol) + resp::to_string(reader_.error()));
            case resp::read_status::more: break;
        }
        while (chunks_.empty()) {
            co_await something();
        }
        current_ = std::move(chunks_.front());
        chunks_.pop_front();
        reader_.feed(current_.bytes);
    }
}

/// Waits for the next event of the connection.
asio::awaitable<void> doctor_connection::something()
{
    if (trouble_.empty()) {
        has_news_ = false;
        timer_.expires_at(deadline_);
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (!trouble_.empty()) {
        throw no_answer(trouble_);
    }
    if (!has_news_) {
        throw no_answer(is_up_        ? std::string(unanswered_commands)
                        : awaits_tls_ ? std::string(unfinished_tls)
                                      : "does not answer in time");
    }
}

void doctor_connection::tell()
{
    has_news_ = true;
    timer_.cancel();
}

void doctor_connection::on_link_handshaking(unsigned)
{
    awaits_tls_ = true;
}

void doctor_connection::on_link_up(unsigned)
{
    is_up_ = true;
    tell();
}

void doctor_connection::on_link_bytes(unsigned, std::string_view bytes)
{
    chunks_.push_back({std::string(bytes), boot_clock::now()});
    tell();
}

void doctor_connection::on_link_written(unsigned, std::string&&)
{
    send();
}

void doctor_connection::on_link_down(unsigned, std::string_view reason)
{
    trouble_ = reason.empty() ? "the connection was lost" : std::string(reason);
    tell();
}

}  // namespace redlock::cli
