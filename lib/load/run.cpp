#include "load/commands.hpp"
#include "load/endpoint.hpp"
#include "load/live_line.hpp"
#include "load/measurement.hpp"
#include "load/meter.hpp"
#include "load/servers.hpp"
#include "load/versions.hpp"
#include "load/workload.hpp"

#include <nlohmann/json.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// The seconds after the stop of a node in which the client notices it. They are measured
/// separately.
constexpr double settling = 0.1;

/// The interval of the progress line.
constexpr auto look_interval = 200ms;

bench_clock::duration duration(double seconds)
{
    return std::chrono::duration_cast<bench_clock::duration>(
        std::chrono::duration<double>(seconds));
}

/// A client and its workers with a context. The main thread runs the first lane's context, and each
/// further context has a thread of its own.
struct lane {
    lane(config c, plan p) : load(io, std::move(c), std::move(p)) {}
    ~lane()
    {
        io.stop();
        finish();
    }

    void begin_thread()
    {
        work.emplace(io.get_executor());
        thread = std::thread([this] { io.run(); });
    }
    void finish()
    {
        if (thread.joinable()) {
            thread.join();
        }
    }

    asio::io_context io{1};
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
    workload load;
    std::thread thread;
};

/// The work of a lane since the last look.
struct look {
    figures done;
    redlock::stats stats;
};

asio::awaitable<look> look_at(lane& l)
{
    co_return look{l.load.take(), l.load.stats()};
}

/// Adds the printed statistics of several clients.
stats sum(const stats& a, const stats& b)
{
    stats both;
    both.commands = a.commands + b.commands;
    both.notified_attempts_granted = a.notified_attempts_granted + b.notified_attempts_granted;
    both.notified_attempts_refused = a.notified_attempts_refused + b.notified_attempts_refused;
    both.polls = a.polls + b.polls;
    both.tickets = a.tickets + b.tickets;
    both.ticket_positions = a.ticket_positions + b.ticket_positions;
    both.tickets_skipped = a.tickets_skipped + b.tickets_skipped;
    both.nodes_ready = std::min(a.nodes_ready, b.nodes_ready);
    return both;
}

/// One run: its nodes, its workload and its figures.
class bench_run {
public:
    explicit bench_run(const run_options& o);

    void operator()();
    void report() const;

private:
    asio::awaitable<void> script();
    asio::awaitable<void> measure(std::string name, double seconds);
    asio::awaitable<look> look_at_all();
    /// Returns the figures of that time, or nothing if no progress is printed.
    asio::awaitable<std::optional<figures>> pass(bench_clock::duration length);
    asio::awaitable<void> wait(bench_clock::duration length);
    void disturb(std::size_t node);
    [[nodiscard]] std::string server_name();

    const run_options& o_;
    std::optional<local_servers> servers_;
    std::vector<std::string> urls_;
    std::deque<lane> lanes_;
    result common_;
    std::vector<measurement> measured_;
    std::optional<live_line> live_;
};

std::vector<std::string> nodes_for(const run_options& o, std::optional<local_servers>& servers)
{
    return o.nodes.empty() ? servers.emplace(o.local).urls() : o.nodes;
}

bench_run::bench_run(const run_options& o) : o_(o), urls_(nodes_for(o, servers_))
{
    for (std::size_t i = 0; i < o.threads; ++i) {
        plan share = o.work;
        share.workers = (o.work.workers + i) / o.threads;
        share.resources = o.threads == 1 ? o.work.resources : share.workers;
        lanes_.emplace_back(o.config_for(urls_), std::move(share));
    }
    common_.versions = library_versions(urls_);
    common_.versions["server"] = server_name();
    common_.nodes = urls_.size();
    common_.workers = o.work.workers;
    common_.resources = o.work.resources;
    common_.ttl_ms = static_cast<std::uint64_t>(o.work.acquire.ttl.count());
}

// Only for the output. A node that asks for a password or for TLS is measured nevertheless.
std::string bench_run::server_name()
{
    if (servers_) {
        return servers_->version();
    }
    try {
        asio::io_context io;
        auto socket = connect(io, urls_.front());
        return server_version(ask(socket, "INFO server", 1s));
    } catch (const std::exception&) {
        return "unknown";
    }
}

void bench_run::operator()()
{
    auto& io = lanes_.front().io;
    asio::co_spawn(io, script(), [](const std::exception_ptr& e) {
        if (e) {
            std::rethrow_exception(e);
        }
    });
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
        lanes_[i].begin_thread();
    }
    io.run();
    for (auto& l : lanes_) {
        l.finish();
    }
}

asio::awaitable<void> bench_run::script()
{
    for (auto& l : lanes_) {
        co_await asio::co_spawn(l.io, l.load.connect(), asio::use_awaitable);
        co_await asio::co_spawn(l.io, l.load.hold(), asio::use_awaitable);
    }
    for (auto& l : lanes_) {
        asio::post(l.io, [&l] { l.load.start(); });
    }
    if (o_.live) {
        live_.emplace(urls_.size(), std::cerr, STDERR_FILENO);
        live_->start();
    }
    co_await pass(duration(o_.warm_up));
    if (o_.stop_node) {
        co_await measure(o_.api + ", healthy", o_.stop_after);
        disturb(*o_.stop_node);
        const std::string with =
            o_.api + (o_.stop_with == "kill" ? ", one killed" : ", one stopped");
        co_await measure(with + ", at first", settling);
        co_await measure(with, o_.seconds - o_.stop_after);
    } else {
        co_await measure(o_.api, o_.seconds);
    }
    if (live_) {
        live_->clear();
    }
    for (auto& l : lanes_) {
        asio::post(l.io, [&l] { l.load.stop(); });
    }
}

void bench_run::disturb(std::size_t node)
{
    if (o_.stop_with == "kill") {
        servers_->kill(node);
    } else {
        servers_->stop(node);
    }
}

asio::awaitable<void> bench_run::measure(std::string name, double seconds)
{
    meter m(cpu_of_servers(servers_, o_.server_pids));
    // Only the statistics are kept, because the figures from before are large compared with the
    // measured memory.
    const redlock::stats before = (co_await look_at_all()).stats;
    m.begin();
    const std::optional<figures> seen = co_await pass(duration(seconds));
    look after = co_await look_at_all();
    if (seen) {
        after.done.merge(*seen);
    }
    auto& got = measured_.emplace_back(measurement{common_, std::move(after.done)});
    got.before = before;
    got.after = after.stats;
    got.common.name = std::move(name);
    got.common.cycles = got.more.cycles;
    got.common.failures = got.more.failures();
    m.end(got.common, got.more.acquires);
}

asio::awaitable<look> bench_run::look_at_all()
{
    look all = co_await look_at(lanes_.front());
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
        look further =
            co_await asio::co_spawn(lanes_[i].io, look_at(lanes_[i]), asio::use_awaitable);
        // These workers differ from the earlier lanes' workers, which are also numbered from 0.
        const auto own = std::exchange(further.done.cycles_of, {});
        all.done.merge(further.done);
        all.done.cycles_of.insert(all.done.cycles_of.end(), own.begin(), own.end());
        all.stats = sum(all.stats, further.stats);
    }
    co_return all;
}

asio::awaitable<std::optional<figures>> bench_run::pass(bench_clock::duration length)
{
    std::optional<figures> done;
    const auto end = bench_clock::now() + length;
    if (live_) {
        done.emplace();
        while (bench_clock::now() + look_interval < end) {
            co_await wait(look_interval);
            const look latest = co_await look_at_all();
            live_->show(latest.done, latest.stats.nodes_ready);
            done->merge(latest.done);
        }
    }
    co_await wait(end - bench_clock::now());
    co_return done;
}

asio::awaitable<void> bench_run::wait(bench_clock::duration length)
{
    asio::steady_timer timer(lanes_.front().io, length);
    co_await timer.async_wait(asio::use_awaitable);
}

void bench_run::report() const
{
    if (o_.output == "table") {
        print(std::cout, measured_);
        return;
    }
    nlohmann::json all = measured_.front();
    if (o_.stop_node) {
        all = {{"healthy", measured_[0]}, {"settling", measured_[1]}, {"frozen", measured_[2]}};
    }
    std::cout << all.dump(2) << '\n';
}

/// Completes the options, and refuses options that contradict each other.
void settle(run_options& o)
{
    o.work.style = o.api == "await" ? api::await : api::callback;
    o.work.resources = o.resources == 0 ? o.work.workers : o.resources;
    o.work.hold = std::chrono::milliseconds(o.hold_ms);
    o.work.acquire.ttl = std::chrono::milliseconds(o.ttl_ms);
    o.work.acquire.timeout = std::chrono::milliseconds(o.timeout_ms);
    o.work.acquire.fencing = o.fencing;
    o.work.acquire.label = o.label;
    if (o.ttl_ms < 4 * o.node_timeout_ms) {
        throw std::invalid_argument("--ttl must be at least four times --node-timeout");
    }
    if (o.threads > o.work.workers) {
        throw std::invalid_argument("--threads must not be more than --workers");
    }
    if (o.hold_ms >= o.ttl_ms) {
        throw std::invalid_argument("--hold must be shorter than --ttl, as nothing is extended");
    }
    if (!o.stop_node) {
        return;
    }
    if (*o.stop_node >= o.local.count) {
        throw std::invalid_argument("--stop-node counts from 0 and must be below --local");
    }
    if (o.stop_after == 0) {
        o.stop_after = o.seconds / 2;
    }
    if (o.stop_after >= o.seconds) {
        throw std::invalid_argument("--stop-after must be less than --seconds");
    }
}

}  // namespace

config library_options::config_for(std::vector<std::string> urls) const
{
    config c = base;
    c.nodes = std::move(urls);
    c.release_notifications = release_notifications;
    c.fair_queue = fair_queue;
    c.node_timeout = std::chrono::milliseconds(node_timeout_ms);
    c.thread_safe = thread_safe;
    if (!ca_file.empty()) {
        c.tls.ca_file = ca_file;
    }
    return c;
}

int run(run_options o)
{
    settle(o);
    bench_run b(o);
    b();
    b.report();
    return 0;
}

}  // namespace redlock::bench
