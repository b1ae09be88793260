#include "load/commands.hpp"
#include "load/live_line.hpp"
#include "load/verdict.hpp"
#include "load/workload.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto look_interval = 200ms;
constexpr auto recovery_look_interval = 20ms;
constexpr auto recovery_patience = 10s;
constexpr std::size_t shared_resources = 4;

config config_for(const local_servers& servers)
{
    config c;
    c.nodes = servers.urls();
    return c;
}

// Single attempts, so that the output shows the nodes' answers at once.
plan plan_for(const show_options& o)
{
    plan p;
    p.style = api::await;
    p.workers = o.workers;
    p.resources = o.workers;
    p.shared = shared_resources;
    p.hold_shared = 1ms;
    p.pause = 10ms;
    p.acquire.timeout = 0ms;
    return p;
}

/**
 * The workers run in a thread of their own. The script kills and starts nodes and prints lines, and
 * each of these calls may block.
 */
class bench_show {
public:
    explicit bench_show(const show_options& o);
    ~bench_show();

    bench_show(const bench_show&) = delete;
    bench_show& operator=(const bench_show&) = delete;

    /// Returns the exit status.
    [[nodiscard]] int operator()();

private:
    asio::awaitable<void> script();
    asio::awaitable<void> stay(std::string name, expected what);
    asio::awaitable<void> recover();
    /// Adds the work since the last look to the present phase.
    asio::awaitable<void> look();
    asio::awaitable<void> wait(bench_clock::duration length);
    void begin(std::string name, expected what);
    void kill(std::size_t from, std::size_t to);
    [[nodiscard]] std::string alive_text(std::size_t alive) const;
    [[nodiscard]] int conclude();

    const show_options& o_;
    const std::size_t spare_;  ///< nodes that are not needed for a majority
    local_servers servers_;
    asio::io_context stage_{1};
    asio::io_context backstage_{1};
    asio::executor_work_guard<asio::io_context::executor_type> backstage_work_;
    workload load_;
    live_line out_;
    std::vector<phase> phases_;
    bench_clock::time_point looked_;
    bool first_look_ = true;  ///< at the present phase
    std::optional<bench_clock::duration> recovery_;
    /// The number of nodes that were usable at the last look.
    std::size_t ready_ = 0;
    int interrupted_by_ = 0;
    std::exception_ptr broken_;
    std::thread worker_;
};

bench_show::bench_show(const show_options& o)
    : o_(o),
      spare_((o.local.count - 1) / 2),
      servers_(o.local),
      backstage_work_(backstage_.get_executor()),
      load_(backstage_, config_for(servers_), plan_for(o)),
      out_(o.local.count, std::cout, STDOUT_FILENO)
{}

bench_show::~bench_show()
{
    backstage_.stop();
    if (worker_.joinable()) {
        worker_.join();
    }
}

int bench_show::operator()()
{
    // Replaces the signal handlers of the servers, which can't end the progress line.
    asio::signal_set signals(stage_, SIGINT, SIGTERM);
    signals.async_wait([this](error_code why, int signal) {
        if (why) {
            return;
        }
        interrupted_by_ = signal;
        stage_.stop();
    });
    asio::co_spawn(stage_, script(), [this, &signals](const std::exception_ptr& e) {
        broken_ = e;
        signals.cancel();
    });
    worker_ = std::thread([this] { backstage_.run(); });
    stage_.run();
    if (broken_) {
        std::rethrow_exception(broken_);
    }
    if (interrupted_by_ == 0) {
        return conclude();
    }
    out_.say("Interrupted: stopping the nodes.");
    return 128 + interrupted_by_;
}

asio::awaitable<void> bench_show::script()
{
    const auto all = servers_.size();
    out_.say(std::to_string(all) + " nodes (" + servers_.version() + "), " +
             std::to_string(o_.workers) + " workers; a lock needs " + std::to_string(all - spare_) +
             " nodes.");
    co_await asio::co_spawn(backstage_, load_.connect(), asio::use_awaitable);
    asio::post(backstage_, [this] { load_.start(); });
    out_.start();
    looked_ = bench_clock::now();
    co_await stay("all nodes", expected::locks);

    out_.say("Killing " + std::to_string(spare_) + " of the nodes: locks should go on.");
    kill(0, spare_);
    co_await stay(alive_text(all - spare_), expected::locks);

    out_.say("Killing another one, so that no majority is left: acquires should fail at once.");
    kill(spare_, spare_ + 1);
    co_await stay(alive_text(all - spare_ - 1), expected::no_locks);
    out_.say("The slowest acquire of those that failed took " +
             milliseconds_text(phases_.back().total.slowest_failure) + "; the node timeout is " +
             milliseconds_text(config{}.node_timeout) + ".");

    out_.say("Starting the dead nodes again: locks should come back by themselves.");
    co_await recover();
    co_await stay("all back", expected::locks);
    asio::post(backstage_, [this] { load_.stop(); });
}

void bench_show::begin(std::string name, expected what)
{
    auto& now = phases_.emplace_back();
    now.name = std::move(name);
    now.what = what;
    first_look_ = true;
}

asio::awaitable<void> bench_show::stay(std::string name, expected what)
{
    begin(std::move(name), what);
    const auto length = std::chrono::duration_cast<bench_clock::duration>(
        std::chrono::duration<double>(o_.seconds));
    const auto end = bench_clock::now() + length;
    for (auto left = length; left > 0s; left = end - bench_clock::now()) {
        co_await wait(std::min<bench_clock::duration>(look_interval, left));
        co_await look();
    }
}

asio::awaitable<void> bench_show::recover()
{
    begin("coming back", expected::either);
    const auto began = bench_clock::now();
    for (std::size_t i = 0; i <= spare_; ++i) {
        servers_.restart(i);
    }
    const auto& first = phases_.back().total.first_acquired;
    while ((!first || ready_ < servers_.size()) && bench_clock::now() - began < recovery_patience) {
        co_await wait(recovery_look_interval);
        co_await look();
    }
    if (!first) {
        co_return;
    }
    recovery_ = *first - began;
    out_.say("The first lock came " + milliseconds_text(*recovery_) +
             " after the start of the nodes began; " + std::to_string(ready_) + " of " +
             std::to_string(servers_.size()) + " are in use again.");
}

asio::awaitable<void> bench_show::look()
{
    struct snapshot {
        figures latest;
        std::size_t ready;
    };
    auto read = [](workload& load) -> asio::awaitable<snapshot> {
        co_return snapshot{load.take(), load.stats().nodes_ready};
    };
    const auto [latest, ready] =
        co_await asio::co_spawn(backstage_, read(load_), asio::use_awaitable);

    ready_ = ready;
    auto& here = phases_.back();
    const auto now = bench_clock::now();
    here.seconds += std::chrono::duration<double>(now - std::exchange(looked_, now)).count();
    here.total.merge(latest);
    if (!std::exchange(first_look_, false)) {
        here.late_acquires += latest.acquires.count();
    }
    out_.show(latest, ready);
}

asio::awaitable<void> bench_show::wait(bench_clock::duration length)
{
    asio::steady_timer timer(stage_, length);
    co_await timer.async_wait(asio::use_awaitable);
}

void bench_show::kill(std::size_t from, std::size_t to)
{
    for (auto i = from; i < to; ++i) {
        servers_.kill(i);
    }
}

std::string bench_show::alive_text(std::size_t alive) const
{
    return std::to_string(alive) + " of " + std::to_string(servers_.size());
}

int bench_show::conclude()
{
    worker_.join();
    out_.say("");
    print_phases(std::cout, phases_);
    std::cout << '\n';
    auto broken = broken_promises(phases_, recovery_);
    if (ready_ < servers_.size()) {
        broken.push_back("at the end " + std::to_string(servers_.size() - ready_) +
                         " of the nodes were not in use again");
    }
    if (broken.empty()) {
        std::cout
            << "All promises were kept: workers got locks while a majority was alive, failed at "
               "once\nwithout one, got locks again after the restart, and none was held twice.\n";
        return 0;
    }
    std::cout << "These promises were not kept:\n";
    for (const auto& what : broken) {
        std::cout << "  " << what << '\n';
    }
    return 1;
}

}  // namespace

int show(const show_options& o)
{
    bench_show b(o);
    return b();
}

}  // namespace redlock::bench
