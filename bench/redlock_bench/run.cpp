#include "common/endpoint.hpp"
#include "common/meter.hpp"
#include "common/servers.hpp"
#include "redlock_bench/commands.hpp"
#include "redlock_bench/measurement.hpp"
#include "redlock_bench/workload.hpp"

#include <redlock/version.hpp>

#include <nlohmann/json.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Not measured behind the stop of a node: time in which the client finds out.
constexpr auto settling = 100ms;

bench_clock::duration duration(double seconds)
{
    return std::chrono::duration_cast<bench_clock::duration>(
        std::chrono::duration<double>(seconds));
}

/// One run: its nodes, its workload and what was measured.
class bench_run {
public:
    explicit bench_run(const run_options& o);

    void operator()();
    void report() const;

private:
    asio::awaitable<void> script();
    asio::awaitable<void> measure(std::string name, double seconds);
    asio::awaitable<void> wait(bench_clock::duration length);
    [[nodiscard]] std::string server_name();

    const run_options& o_;
    std::optional<local_servers> servers_;
    std::vector<std::string> urls_;
    asio::io_context io_{1};
    workload load_;
    result common_;
    std::vector<measurement> measured_;
};

config config_for(std::vector<std::string> urls, const run_options& o)
{
    config c;
    c.nodes = std::move(urls);
    c.wake_ups = o.wake_ups;
    return c;
}

std::vector<std::string> nodes_for(const run_options& o, std::optional<local_servers>& servers)
{
    return o.nodes.empty() ? servers.emplace(o.local).urls() : o.nodes;
}

bench_run::bench_run(const run_options& o)
    : o_(o),
      urls_(nodes_for(o, servers_)),
      load_(io_, config_for(urls_, o), o.work)
{
    common_.versions = build_versions();
    common_.versions["redlock"] = version();
    common_.versions["server"] = server_name();
    common_.nodes = urls_.size();
    common_.workers = o.work.workers;
    common_.resources = o.work.resources;
    common_.ttl_ms = static_cast<std::uint64_t>(o.work.acquire.ttl.count());
}

// Only to be printed: a node that asks for a password or for TLS is measured all the same.
std::string bench_run::server_name()
{
    if (servers_) {
        return servers_->version();
    }
    try {
        auto socket = connect(io_, urls_.front());
        return server_version(ask(socket, "INFO server", 1s));
    } catch (const std::exception&) {
        return "unknown";
    }
}

void bench_run::operator()()
{
    asio::co_spawn(io_, script(), [](std::exception_ptr e) {
        if (e) {
            std::rethrow_exception(e);
        }
    });
    io_.run();
}

asio::awaitable<void> bench_run::script()
{
    co_await load_.connect();
    load_.start();
    co_await wait(duration(o_.warm_up));
    if (o_.stop_node) {
        co_await measure(o_.api + ", healthy", o_.stop_after);
        servers_->stop(*o_.stop_node);
        co_await wait(settling);
        co_await measure(o_.api + ", one stopped", o_.seconds - o_.stop_after);
    } else {
        co_await measure(o_.api, o_.seconds);
    }
    load_.stop();
}

asio::awaitable<void> bench_run::measure(std::string name, double seconds)
{
    meter m(cpu_of_servers(servers_, o_.server_pids));
    static_cast<void>(load_.take());
    const stats before = load_.stats();
    m.begin();
    co_await wait(duration(seconds));
    auto& got = measured_.emplace_back(measurement{common_, load_.take()});
    got.before = before;
    got.after = load_.stats();
    got.common.name = std::move(name);
    got.common.cycles = got.more.cycles;
    got.common.failures = got.more.failures();
    m.end(got.common, got.more.acquires);
}

asio::awaitable<void> bench_run::wait(bench_clock::duration length)
{
    asio::steady_timer timer(io_, length);
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
        all = {{"healthy", measured_.front()}, {"frozen", measured_.back()}};
    }
    std::cout << all.dump(2) << '\n';
}

/// Completes what was read, and refuses what makes no sense together.
void settle(run_options& o)
{
    o.work.style = o.api == "await" ? api::await : api::callback;
    o.work.resources = o.resources == 0 ? o.work.workers : o.resources;
    o.work.hold = std::chrono::milliseconds(o.hold_ms);
    o.work.acquire.ttl = std::chrono::milliseconds(o.ttl_ms);
    o.work.acquire.deadline = std::chrono::milliseconds(o.deadline_ms);
    o.work.acquire.fencing = o.fencing;
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

int run(run_options o)
{
    settle(o);
    bench_run b(o);
    b();
    b.report();
    return 0;
}

}  // namespace redlock::bench
