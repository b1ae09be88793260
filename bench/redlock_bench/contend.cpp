#include "common/child.hpp"
#include "load/figures.hpp"
#include "load/meter.hpp"
#include "load/servers.hpp"
#include "redlock_bench/commands.hpp"
#include "redlock_bench/turns.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::bench {
namespace {

enum class peer { library, node_redlock };

/// A number of processes that want the lock, each with a number of workers.
struct contention_case {
    std::string name;
    std::size_t processes;
    std::size_t workers;
    std::size_t clients;  ///< the workers of a process share them
    bool is_notified;     ///< when the lock is free
    peer written_with = peer::library;
};

/// The first case is the reference.
const std::vector<contention_case>& contention_cases()
{
    static const std::vector<contention_case> all{
        {"lone worker", 1, 1, 1, true},
        {"one process", 1, 64, 1, true},
        {"8 clients", 1, 8, 8, true},
        {"64 clients", 1, 64, 64, true},
        {"256 clients", 1, 256, 256, true},
        {"8 processes", 8, 8, 1, true},
        {"one process, delay", 1, 64, 1, false},
        {"64 clients, delay", 1, 64, 64, false},
        {"8 processes, delay", 8, 8, 1, false},
        {"node-redlock", 1, 64, 1, false, peer::node_redlock},
        {"8 x node-redlock", 8, 8, 1, false, peer::node_redlock},
    };
    return all;
}

/// The number of nodes and the hold time of one measurement of all cases.
struct setting {
    std::size_t nodes;
    std::int64_t hold_ms;
};

std::int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               bench_clock::now().time_since_epoch())
        .count();
}

void sleep(double seconds)
{
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

class contest {
public:
    explicit contest(const contend_options& o)
        : o_(o),
          servers_(local(o)),
          mark_("contend:" + std::to_string(std::random_device{}()) + ':')
    {}

    void run();
    void write_json() const;
    [[nodiscard]] bool is_exclusive() const { return bench::is_exclusive(all_); }

private:
    static server_options local(const contend_options& o);
    [[nodiscard]] bool is_wanted(const contention_case& one) const;
    [[nodiscard]] contention once(const contention_case& one, const setting& s);
    [[nodiscard]] child started(const contention_case& one, const setting& s,
                                const std::string& resource);
    void print(const contention& c, const contention& lone) const;

    const contend_options& o_;
    local_servers servers_;
    std::string mark_;
    std::size_t runs_ = 0;
    std::vector<contention> all_;
};

server_options contest::local(const contend_options& o)
{
    server_options all = o.local;
    all.count = *std::ranges::max_element(o.node_counts);
    return all;
}

void contest::run()
{
    std::cout << "  nodes  hold ms  case                 grants/s     to lone  wait p50 ms"
                 "       p99       max  hand-over p50 us       p99  fewest grants      most"
                 "  commands  failures\n";
    for (const std::size_t nodes : o_.node_counts) {
        for (const std::int64_t hold_ms : o_.hold_ms) {
            contention lone;
            for (const contention_case& one : contention_cases()) {
                if (!is_wanted(one)) {
                    continue;
                }
                all_.push_back(once(one, {nodes, hold_ms}));
                if (&one == &contention_cases().front()) {
                    lone = all_.back();
                }
                print(all_.back(), lone);
            }
        }
    }
}

bool contest::is_wanted(const contention_case& one) const
{
    if (!o_.cases.empty()) {
        return std::ranges::find(o_.cases, one.name) != o_.cases.end();
    }
    return one.written_with == peer::library || !o_.node_redlock.empty();
}

contention contest::once(const contention_case& one, const setting& s)
{
    // No key of another case is left.
    const std::string resource = mark_ + std::to_string(runs_++);
    contention c;
    c.name = one.name;
    c.versions = build_versions();
    c.versions["server"] = servers_.version();
    c.nodes = s.nodes;
    c.processes = one.processes;
    c.workers = one.processes * one.workers;
    c.hold_ms = s.hold_ms;
    std::vector<child> all;
    for (std::size_t i = 0; i < one.processes; ++i) {
        all.push_back(started(one, s, resource));
    }
    for (child& each : all) {
        c.versions.merge(
            nlohmann::json::parse(each.read_line()).get<std::map<std::string, std::string>>());
    }
    for (child& each : all) {
        each.write("\n");
    }
    sleep(o_.warm_up);
    window when;
    when.begin = now_ns();
    sleep(o_.seconds);
    when.end = now_ns();
    for (child& each : all) {
        each.close_input();
    }
    std::vector<history> told;
    for (child& each : all) {
        told.push_back(nlohmann::json::parse(each.read_line()).get<history>());
        each.wait();
    }
    count(c, told, when);
    return c;
}

child contest::started(const contention_case& one, const setting& s, const std::string& resource)
{
    std::vector<std::string> arguments{"--resource", resource,
                                       "--workers",  std::to_string(one.workers),
                                       "--hold",     std::to_string(s.hold_ms),
                                       "--ttl",      std::to_string(o_.ttl_ms)};
    std::string program;
    if (one.written_with == peer::library) {
        program = std::filesystem::read_symlink("/proc/self/exe");
        arguments.insert(arguments.begin(), "contender");
        arguments.insert(arguments.end(), {"--clients", std::to_string(one.clients)});
        arguments.emplace_back(o_.fencing ? "--fencing" : "--no-fencing");
        if (!one.is_notified) {
            arguments.insert(arguments.end(), {"--delay", std::to_string(o_.delay_ms)});
        }
    } else {
        program = "node";
        arguments.insert(arguments.begin(), o_.node_redlock + "/contender.mjs");
    }
    arguments.emplace_back("--nodes");
    for (std::size_t i = 0; i < s.nodes; ++i) {
        arguments.push_back(servers_.urls()[i]);
    }
    return {program, arguments};
}

void contest::print(const contention& c, const contention& lone) const
{
    const auto ms = [](double us) { return us / 1000; };
    std::ostringstream of_lone;
    of_lone << std::fixed << std::setprecision(2);
    if (lone.grants > 0) {
        of_lone << c.grants_per_second / lone.grants_per_second;
    } else {
        of_lone << '-';
    }
    std::cout << std::fixed << std::setw(7) << c.nodes << std::setw(9) << c.hold_ms << "  "
              << std::left << std::setw(18) << c.name << std::right << std::setprecision(0)
              << std::setw(11) << c.grants_per_second << std::setw(12) << of_lone.str()
              << std::setprecision(1) << std::setw(13) << ms(c.wait_p50_us) << std::setw(10)
              << ms(c.wait_p99_us) << std::setw(10) << ms(c.wait_max_us) << std::setprecision(0)
              << std::setw(18) << c.hand_over_p50_us << std::setw(10) << c.hand_over_p99_us
              << std::setw(16) << c.least_of_a_worker << std::setw(10) << c.most_of_a_worker
              << std::setprecision(2) << std::setw(10) << c.commands_per_node_and_grant
              << std::setw(10) << c.failures;
    if (c.violations > 0) {
        std::cout << "  EXCLUSION VIOLATED " << c.violations << " times";
    }
    std::cout << std::endl;
}

void contest::write_json() const
{
    if (o_.json.empty()) {
        return;
    }
    std::ofstream file(o_.json);
    file << nlohmann::json(all_).dump(2) << '\n';
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + o_.json);
    }
}

}  // namespace

std::vector<std::string> case_names()
{
    std::vector<std::string> names;
    for (const contention_case& one : contention_cases()) {
        names.push_back(one.name);
    }
    return names;
}

int contend(const contend_options& o)
{
    const auto is_peer = [](const std::string& name) { return name.ends_with("node-redlock"); };
    if (o.node_redlock.empty() && std::ranges::any_of(o.cases, is_peer)) {
        throw std::invalid_argument("--case with node-redlock needs --node-redlock");
    }
    contest c(o);
    c.run();
    c.write_json();
    return c.is_exclusive() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace redlock::bench
