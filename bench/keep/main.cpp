// Measures the cost of very many locks that are kept alive: takes them, holds them for a while,
// counts the cost of their renewals, releases all of them, and checks that no key is left.

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
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace redlock::bench;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

struct keep_options : measuring_options {
    std::size_t locks = 100'000;
    std::int64_t ttl_ms = 30'000;
    std::int64_t node_timeout_ms = 1000;
    bool fencing = false;
    bool kept = true;
    bool json = false;
};

keep_options read_options(int argc, char** argv)
{
    CLI::App app("redlock-keep: what locks cost that are kept alive");
    keep_options o;
    o.local.count = 3;
    o.seconds = 30;
    add_options(app, o);
    app.add_option("--locks", o.locks, "Held at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000'000));
    app.add_option("--ttl", o.ttl_ms, "Of each lock, in ms")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--node-timeout", o.node_timeout_ms, "In ms")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_flag("--fencing", o.fencing, "Locks with fencing tokens, whose counters stay");
    app.add_flag("!--no-keep-alive", o.kept,
                 "Held for their ttl, and not kept alive: for what a held lock takes");
    app.add_flag("--json", o.json, "JSON instead of a table");
    parse_or_exit(app, argc, argv);
    return o;
}

/// All held locks.
class keeping {
public:
    explicit keeping(const keep_options& o, const std::vector<std::string>& nodes)
        : options_(o),
          client_(io_, config_of(o, nodes))
    {
        held_.reserve(o.locks);
        client_.async_run(asio::detached);
    }

    /// Takes a thousand locks at a time.
    void take_all()
    {
        begun_ = 0;
        for (int i = 0; i < 1000; ++i) {
            take_next();
        }
        run_until([this] { return held_.size() + failures_ == options_.locks; });
    }

    void hold_for(double seconds)
    {
        io_.restart();
        io_.run_for(std::chrono::duration_cast<clock_type::duration>(
            std::chrono::duration<double>(seconds)));
    }

    /// Drops all locks at once, and waits until every release has its answer. False if a release is
    /// still pending.
    bool drop_all()
    {
        held_.clear();
        return run_until([this] {
            const redlock::stats s = client_.stats();
            return s.unanswered == 0 && s.pending_releases == 0;
        });
    }

    [[nodiscard]] std::size_t owned() const
    {
        std::size_t count = 0;
        for (const redlock::lock& l : held_) {
            count += l.owns() ? 1u : 0u;
        }
        return count;
    }
    [[nodiscard]] redlock::stats stats() const { return client_.stats(); }

private:
    static redlock::config config_of(const keep_options& o, const std::vector<std::string>& nodes)
    {
        redlock::config c;
        c.nodes = nodes;
        c.key_prefix = "keep:";
        c.node_timeout = std::chrono::milliseconds(o.node_timeout_ms);
        c.stall_timeout = std::max<std::chrono::milliseconds>(c.stall_timeout, 2 * c.node_timeout);
        return c;
    }

    void take_next()
    {
        if (begun_ == options_.locks) {
            return;
        }
        redlock::acquire_options o;
        o.ttl = std::chrono::milliseconds(options_.ttl_ms);
        if (options_.kept) {
            o.keep_alive.emplace();
        }
        o.fencing = options_.fencing;
        client_.async_acquire(std::to_string(begun_++), o,
                              [this](redlock::error_code ec, redlock::lock l) {
                                  if (ec) {
                                      ++failures_;
                                  } else {
                                      held_.push_back(std::move(l));
                                  }
                                  take_next();
                              });
    }

    template <class Done>
    bool run_until(Done done)
    {
        const auto end = clock_type::now() + 120s;
        io_.restart();
        while (!done() && clock_type::now() < end) {
            io_.run_one_for(10ms);
        }
        return done();
    }

    const keep_options options_;
    asio::io_context io_{1};
    redlock::client client_;
    std::vector<redlock::lock> held_;
    std::size_t begun_ = 0;
    std::size_t failures_ = 0;
};

int run(const keep_options& o)
{
    std::optional<local_servers> local;
    std::vector<std::string> nodes = o.nodes;
    if (nodes.empty()) {
        local.emplace(o.local);
        nodes = local->urls();
    }
    // The buffers and pools of a thousand acquires don't depend on the number of held locks.
    keep_options few = o;
    few.locks = std::min<std::size_t>(o.locks, 1000);
    {
        keeping small(few, nodes);
        small.take_all();
        (void)small.drop_all();
    }
    const std::uint64_t rss_before = resident_kib();
    keeping all(o, nodes);
    all.take_all();
    const std::uint64_t rss_held = resident_kib();
    all.hold_for(o.warm_up);

    const auto before = all.stats();
    const auto used_before = usage_now();
    const auto cpu_of_all = cpu_of_servers(local, o.server_pids);
    const double servers_before = cpu_of_all ? cpu_of_all() : 0;
    const auto began = clock_type::now();
    all.hold_for(o.seconds);
    const double seconds = std::chrono::duration<double>(clock_type::now() - began).count();
    const auto after = all.stats();
    const auto used_after = usage_now();
    const double servers_after = cpu_of_all ? cpu_of_all() : 0;

    const std::uint64_t rss_renewed = resident_kib();
    const std::size_t owned = all.owned();
    const bool all_given_back = all.drop_all();
    const std::uint64_t left = keys_left(nodes);
    const auto renewals = static_cast<double>(after.renewed - before.renewed);
    const double cpu = used_after.cpu_seconds - used_before.cpu_seconds;
    const auto a_lock = [&](std::uint64_t kib) {
        return (static_cast<double>(kib) - static_cast<double>(rss_before)) * 1024 /
               static_cast<double>(o.locks);
    };
    auto versions = build_versions();
    versions["redlock"] = redlock::version();
    const nlohmann::ordered_json told{
        {"versions", versions},
        {"nodes", nodes.size()},
        {"locks", o.locks},
        {"ttl_ms", o.ttl_ms},
        {"node_timeout_ms", o.node_timeout_ms},
        {"fencing", o.fencing},
        {"seconds", seconds},
        {"renewals_per_second", renewals / seconds},
        {"client_cpu_percent", 100 * cpu / seconds},
        {"client_cpu_us_per_renewal", 1e6 * cpu / renewals},
        {"server_cpu_percent",
         cpu_of_all ? nlohmann::ordered_json(100 * (servers_after - servers_before) / seconds)
                    : nlohmann::ordered_json()},
        {"allocations_per_renewal",
         static_cast<double>(used_after.allocations - used_before.allocations) / renewals},
        {"bytes_per_lock", a_lock(rss_held)},
        {"bytes_per_lock_renewed", a_lock(rss_renewed)},
        {"renewals_unknown", after.renewal_unknown},
        {"late_renewals", after.late_renewals},
        {"node_timeouts", after.node_timeouts},
        {"owned_at_the_end", owned},
        {"lost", after.kept_alive_lost},
        {"keys_left", left},
    };
    if (o.json) {
        std::cout << told << '\n';
    } else {
        for (const auto& [name, value] : told.items()) {
            std::cout << name << std::string(28 - name.size(), ' ') << value << '\n';
        }
    }
    const bool well = owned == o.locks && after.kept_alive_lost == 0 && all_given_back && left == 0;
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(read_options(argc, argv));
    } catch (const std::exception& e) {
        std::cerr << "redlock-keep: " << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
