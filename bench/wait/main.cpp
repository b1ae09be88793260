// Measures the cost of very many waiting acquires of one client, for locks that another client
// holds. Counts the commands meanwhile, releases all locks, and measures the time until every
// waiter has had its lock.

#include "load/endpoint.hpp"
#include "load/meter.hpp"
#include "load/options.hpp"
#include "load/servers.hpp"
#include "load/usage.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace redlock::bench;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

/// Nothing takes longer, and no lock ends before.
constexpr auto long_enough = 10min;

struct wait_options : measuring_options {
    std::size_t locks = 1;
    std::size_t waiters = 100'000;
    std::int64_t node_timeout_ms = 1000;
    bool json = false;
};

wait_options read_options(int argc, char** argv)
{
    CLI::App app("redlock-wait: what acquires cost that wait for what another client has");
    wait_options o;
    o.local.count = 3;
    o.seconds = 10;
    add_options(app, o);
    app.add_option("--locks", o.locks, "That are held, and waited for")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--waiters", o.waiters, "For all of them")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--node-timeout", o.node_timeout_ms, "In ms")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_flag("--json", o.json, "JSON instead of a table");
    parse_or_exit(app, argc, argv);
    return o;
}

/// A client that has all locks, and a client whose acquires wait for them.
class waiting {
public:
    waiting(const wait_options& o, const std::vector<std::string>& nodes)
        : options_(o),
          holder_(io_, config_of(o, nodes)),
          client_(io_, config_of(o, nodes))
    {
        held_.reserve(o.locks);
        holder_.async_run(asio::detached);
        client_.async_run(asio::detached);
        const bool is_ready = run_until([this] {
            return holder_.stats().nodes_ready == options_.local.count &&
                   client_.stats().nodes_ready == options_.local.count;
        });
        if (!is_ready) {
            throw std::runtime_error("not all nodes can be reached");
        }
    }

    void take_all()
    {
        const auto had = [this] { return held_.size(); };
        in_portions(options_.locks, holder_, had, [this](std::size_t i) {
            holder_.async_acquire(std::to_string(i), patient(),
                                  [this](redlock::error_code ec, redlock::lock l) {
                                      failures_ += ec ? 1u : 0u;
                                      held_.push_back(std::move(l));
                                  });
        });
        if (!run_until([&] { return had() == options_.locks; }) || failures_ > 0) {
            throw std::runtime_error("not all locks were had");
        }
    }

    /// Returns when all acquires wait.
    void begin_all()
    {
        const auto served = [this] { return served_; };
        in_portions(options_.waiters, client_, served, [this](std::size_t i) {
            client_.async_acquire(std::to_string(i % options_.locks), patient(),
                                  [this](redlock::error_code ec, redlock::lock) {
                                      failures_ += ec ? 1u : 0u;
                                      ++served_;
                                  });
        });
    }

    void wait_for(double seconds)
    {
        io_.restart();
        io_.run_for(std::chrono::duration_cast<clock_type::duration>(
            std::chrono::duration<double>(seconds)));
    }

    /// Each acquire gets its lock for a moment, one after the other. False if an acquire got none.
    bool serve_all()
    {
        held_.clear();
        return run_until([this] {
                   const redlock::stats s = client_.stats();
                   return served_ == options_.waiters && s.unanswered == 0 &&
                          s.pending_releases == 0;
               }) &&
               failures_ == 0;
    }

    [[nodiscard]] std::size_t served() const noexcept { return served_; }
    [[nodiscard]] redlock::stats stats() const { return client_.stats(); }

private:
    static redlock::config config_of(const wait_options& o, const std::vector<std::string>& nodes)
    {
        redlock::config c;
        c.nodes = nodes;
        c.key_prefix = "wait:";
        c.node_timeout = std::chrono::milliseconds(o.node_timeout_ms);
        c.stall_timeout = std::max<std::chrono::milliseconds>(c.stall_timeout, 2 * c.node_timeout);
        c.max_waiters_per_resource = c.max_waiters;
        return c;
    }

    static redlock::acquire_options patient()
    {
        redlock::acquire_options o;
        o.ttl = long_enough;
        o.timeout = long_enough;
        o.fencing = false;  // their counters would stay, and be counted
        return o;
    }

    /// A thousand at a time, because nodes have room for that many commands without an answer.
    template <class Ended, class Begin>
    void in_portions(std::size_t count, const redlock::client& of, Ended ended, Begin begin)
    {
        for (std::size_t i = 0; i < count;) {
            for (const std::size_t end = std::min(count, i + 1000); i < end; ++i) {
                begin(i);
            }
            // The event loop begins the operations that were called.
            const bool is_begun = run_until([&] {
                const redlock::stats s = of.stats();
                return s.in_flight + ended() == i && s.unanswered == 0;
            });
            if (!is_begun) {
                throw std::runtime_error("not all nodes answer");
            }
        }
    }

    template <class Done>
    bool run_until(Done done)
    {
        const auto end = clock_type::now() + long_enough;
        io_.restart();
        while (!done() && clock_type::now() < end) {
            io_.run_one_for(10ms);
        }
        return done();
    }

    const wait_options options_;
    asio::io_context io_{1};
    redlock::client holder_;
    redlock::client client_;
    std::vector<redlock::lock> held_;
    std::size_t served_ = 0;
    std::size_t failures_ = 0;
};

int run(wait_options o)
{
    std::optional<local_servers> local;
    if (o.nodes.empty()) {
        local.emplace(o.local);
        o.nodes = local->urls();
    }
    o.local.count = static_cast<unsigned>(o.nodes.size());

    waiting all(o, o.nodes);
    all.take_all();
    const std::uint64_t rss_before = resident_kib();
    all.begin_all();
    const std::uint64_t rss_waiting = resident_kib();
    all.wait_for(o.warm_up);

    const auto before = all.stats();
    const auto used_before = usage_now();
    const auto cpu_of_all = cpu_of_servers(local, o.server_pids);
    const double servers_before = cpu_of_all ? cpu_of_all() : 0;
    const auto began = clock_type::now();
    all.wait_for(o.seconds);
    const double seconds = std::chrono::duration<double>(clock_type::now() - began).count();
    const auto after = all.stats();
    const auto used_after = usage_now();
    const double servers_after = cpu_of_all ? cpu_of_all() : 0;

    const std::size_t too_early = all.served();
    const auto given_back = clock_type::now();
    const bool all_served = all.serve_all();
    const std::chrono::duration<double> until_served = clock_type::now() - given_back;
    const std::uint64_t left = keys_left(o.nodes);
    auto versions = build_versions();
    versions["redlock"] = redlock::version();
    const nlohmann::ordered_json told{
        {"versions", versions},
        {"nodes", o.nodes.size()},
        {"locks", o.locks},
        {"waiters", o.waiters},
        {"bytes_per_waiter", (static_cast<double>(rss_waiting) - static_cast<double>(rss_before)) *
                                 1024 / static_cast<double>(o.waiters)},
        {"seconds", seconds},
        {"polls_per_second", static_cast<double>(after.polls - before.polls) / seconds},
        {"commands_per_second", static_cast<double>(after.commands - before.commands) / seconds},
        {"client_cpu_percent", 100 * (used_after.cpu_seconds - used_before.cpu_seconds) / seconds},
        {"server_cpu_percent",
         cpu_of_all ? nlohmann::ordered_json(100 * (servers_after - servers_before) / seconds)
                    : nlohmann::ordered_json()},
        {"seconds_until_all_were_served", until_served.count()},
        {"served_too_early", too_early},
        {"keys_left", left},
    };
    if (o.json) {
        std::cout << told << '\n';
    } else {
        for (const auto& [name, value] : told.items()) {
            std::cout << name << std::string(32 - name.size(), ' ') << value << '\n';
        }
    }
    return all_served && too_early == 0 && left == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(read_options(argc, argv));
    } catch (const std::exception& e) {
        std::cerr << "redlock-wait: " << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
