// A lock as Redlock clients on hiredis make it: a worker is a thread with a connection to each
// node. It asks one node after the other, and waits for each answer.

#include "common/floor_run.hpp"

#include <hiredis/hiredis.h>

#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace redlock::bench;
using clock_type = floor_run::clock;

struct context_free {
    void operator()(redisContext* c) const noexcept { ::redisFree(c); }
};
struct reply_free {
    void operator()(redisReply* r) const noexcept { ::freeReplyObject(r); }
};
using connection = std::unique_ptr<redisContext, context_free>;
using reply = std::unique_ptr<redisReply, reply_free>;

connection connect_to(std::string_view url)
{
    constexpr std::string_view tcp = "redis://";
    constexpr std::string_view local = "unix://";
    connection c;
    if (url.starts_with(local)) {
        c.reset(::redisConnectUnix(std::string(url.substr(local.size())).c_str()));
    } else if (url.starts_with(tcp)) {
        const auto colon = url.rfind(':');
        const std::string host(url.substr(tcp.size(), colon - tcp.size()));
        c.reset(::redisConnect(host.c_str(), std::stoi(std::string(url.substr(colon + 1)))));
    }
    if (!c || c->err != 0) {
        throw std::runtime_error("cannot connect to " + std::string(url));
    }
    return c;
}

class worker {
public:
    worker(floor_run& run, std::mutex& counting, std::size_t index)
        : run_(run),
          counting_(counting),
          text_(index)
    {
        for (const auto& url : run.urls()) {
            nodes_.push_back(connect_to(url));
        }
    }

    /// @throws the exception that ended this worker, if there was one.
    void rethrow() const
    {
        if (broken_) {
            std::rethrow_exception(broken_);
        }
    }

    void operator()() noexcept
    {
        try {
            take_turns();
        } catch (...) {
            broken_ = std::current_exception();
        }
    }

private:
    void take_turns()
    {
        for (bool goes_on = true; goes_on;) {
            text_.renew();
            const auto began = clock_type::now();
            const bool is_held = ask_all(text_.acquire());
            const auto taken = clock_type::now();
            const bool is_released = ask_all(text_.release());
            const std::lock_guard one_at_a_time(counting_);
            if (is_held) {
                run_.acquired(taken - began);
            }
            if (!is_held || !is_released) {
                run_.failed();
            }
            goes_on = run_.next_cycle(clock_type::now());
        }
    }

    bool ask_all(const std::string& command)
    {
        std::size_t yes = 0;
        for (auto& node : nodes_) {
            yes += ask(*node, command) ? 1u : 0u;
        }
        return yes >= run_.quorum();
    }

    static bool ask(redisContext& node, const std::string& command)
    {
        void* got = nullptr;
        if (::redisAppendFormattedCommand(&node, command.data(), command.size()) != REDIS_OK ||
            ::redisGetReply(&node, &got) != REDIS_OK) {
            throw std::runtime_error("a node is gone");
        }
        const reply r(static_cast<redisReply*>(got));
        return r->type == REDIS_REPLY_STATUS || (r->type == REDIS_REPLY_INTEGER && r->integer == 1);
    }

    floor_run& run_;
    std::mutex& counting_;
    commands text_;
    std::vector<connection> nodes_;
    std::exception_ptr broken_;
};

void work(floor_run& run)
{
    boost::asio::io_context io;
    static_cast<void>(run.connect_all(io));
    run.tell_version("hiredis", std::to_string(HIREDIS_MAJOR) + '.' +
                                    std::to_string(HIREDIS_MINOR) + '.' +
                                    std::to_string(HIREDIS_PATCH));
    std::mutex counting;
    std::vector<worker> workers;
    for (std::size_t i = 0; i < run.workers(); ++i) {
        workers.emplace_back(run, counting, i);
    }
    run.start();
    std::vector<std::jthread> threads;
    for (auto& w : workers) {
        threads.emplace_back(std::ref(w));
    }
    threads.clear();
    for (auto& w : workers) {
        w.rethrow();
    }
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        floor_run run(argc, argv, "hiredis");
        work(run);
        run.report();
    } catch (const std::exception& e) {
        std::cerr << "redlock-peer-hiredis: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
