// A lock on a majority, as a user would write it on Boost.Redis: a connection to each node, each
// command sent over all of them, and a decision by the answers of a quorum. No deadline and no
// retry: any surprise ends it.

#include "common/floor_run.hpp"

#include <boost/redis/connection.hpp>
#include <boost/redis/src.hpp>
#include <boost/version.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace redis = boost::redis;
using boost::system::error_code;
using namespace redlock::bench;
using clock_type = floor_run::clock;

redis::config config_of(std::string_view url)
{
    constexpr std::string_view tcp = "redis://";
    if (!url.starts_with(tcp)) {
        throw std::runtime_error("nodes are redis://host:port here");
    }
    const auto colon = url.rfind(':');
    redis::config c;
    c.addr.host = url.substr(tcp.size(), colon - tcp.size());
    c.addr.port = url.substr(colon + 1);
    c.health_check_interval = std::chrono::seconds{0};
    c.reconnect_wait_interval = std::chrono::seconds{0};  // then it does not
    return c;
}

/// A null is no grant, and a release that deleted nothing is no release.
bool is_yes(const std::optional<std::string>& answer)
{
    return answer.has_value();
}
bool is_yes(int answer)
{
    return answer == 1;
}

class loop;

class worker {
public:
    worker(loop& all, std::size_t index) : all_(all), text_(index) {}

    void take();

private:
    template <class Answer>
    void ask_all(const std::shared_ptr<redis::request>& asked, void (worker::*then)(bool));
    void on_taken(bool is_held);
    void on_given_back(bool was_held);

    loop& all_;
    commands text_;
    clock_type::time_point began_;
    std::uint32_t round_ = 0;
    std::size_t yes_ = 0;
    std::size_t no_ = 0;
};

class loop {
public:
    explicit loop(floor_run& of) : run(of)
    {
        // Loads the release script, and examines the servers.
        static_cast<void>(run.connect_all(io));
        for (const auto& url : run.urls()) {
            const auto& config = configs_.emplace_back(config_of(url));
            nodes.push_back(std::make_unique<redis::connection>(io));
            nodes.back()->async_run(config, redis::logger{redis::logger::level::disabled},
                                    [this](error_code why) { on_end(why); });
        }
        for (std::size_t i = 0; i < run.workers(); ++i) {
            workers_.emplace_back(*this, i);
        }
    }

    void operator()()
    {
        run.start();
        active_ = workers_.size();
        for (auto& w : workers_) {
            w.take();
        }
        io.run();
    }

    void leave()
    {
        if (--active_ == 0) {
            io.stop();
        }
    }

    floor_run& run;
    asio::io_context io{1};
    std::vector<std::unique_ptr<redis::connection>> nodes;

private:
    void on_end(error_code why)
    {
        if (active_ > 0) {
            throw std::runtime_error("a node is gone: " + why.message());
        }
    }

    std::deque<redis::config> configs_;
    std::deque<worker> workers_;
    std::size_t active_ = 0;
};

void worker::take()
{
    text_.renew();
    began_ = clock_type::now();
    const auto asked = std::make_shared<redis::request>();
    asked->push("SET", text_.resource(), text_.token(), "NX", "PX", commands::ttl_ms);
    ask_all<std::optional<std::string>>(asked, &worker::on_taken);
}

void worker::on_taken(bool is_held)
{
    if (is_held) {
        all_.run.acquired(clock_type::now() - began_);
    } else {
        all_.run.failed();
    }
    const auto asked = std::make_shared<redis::request>();
    asked->push("EVALSHA", commands::release_digest, "1", text_.resource(), text_.token());
    ask_all<int>(asked, &worker::on_given_back);
}

void worker::on_given_back(bool was_held)
{
    if (!was_held) {
        all_.run.failed();
    }
    if (all_.run.next_cycle(clock_type::now())) {
        take();
    } else {
        ++round_;
        all_.leave();
    }
}

/// A request and its answer must live until the answer has arrived. The worker may be further by
/// then.
template <class Answer>
void worker::ask_all(const std::shared_ptr<redis::request>& asked, void (worker::*then)(bool))
{
    ++round_;
    yes_ = 0;
    no_ = 0;
    for (const auto& node : all_.nodes) {
        const auto answer = std::make_shared<redis::response<Answer>>();
        node->async_exec(
            *asked, *answer,
            [this, asked, answer, then, asker = round_](error_code why, std::size_t) {
                const auto& told = std::get<0>(*answer);
                if (why || told.has_error()) {
                    throw std::runtime_error("a node says " +
                                             (why ? why.message() : told.error().diagnostic));
                }
                if (asker != round_) {
                    return;
                }
                const std::size_t quorum = all_.run.quorum();
                if (is_yes(told.value())) {
                    if (++yes_ == quorum) {
                        (this->*then)(true);
                    }
                } else if (++no_ == all_.run.nodes() - quorum + 1) {
                    (this->*then)(false);
                }
            });
    }
}

/// In the form of other programs: 1.88 for 108800.
std::string boost_version()
{
    return std::to_string(BOOST_VERSION / 100'000) + '.' +
           std::to_string(BOOST_VERSION / 100 % 1000);
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        floor_run run(argc, argv, "boost-redis");
        loop turn(run);
        run.tell_version("boost-redis", boost_version());
        turn();
        run.report();
    } catch (const std::exception& e) {
        std::cerr << "redlock-peer-boost-redis: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
