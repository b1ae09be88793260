#include "common/child.hpp"
#include "load/result.hpp"
#include "load/servers.hpp"
#include "redlock_bench/commands.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace redlock::bench {
namespace {

/// One of the compared programs. The first is the reference.
struct contestant {
    std::string name;
    std::string program;
    std::vector<std::string> arguments;
};

const std::vector<contestant>& contestants()
{
    static const std::vector<contestant> all{
        {"floor-epoll", "redlock-floor-epoll", {"--json"}},
        {"floor-asio", "redlock-floor-asio", {"--json"}},
        {"callback", "redlock-bench", {"run", "--output", "json", "--no-fencing"}},
        {"await", "redlock-bench", {"run", "--output", "json", "--no-fencing", "--api", "await"}},
        {"fencing", "redlock-bench", {"run", "--output", "json", "--fencing"}},
    };
    return all;
}

/// The results of one contestant with one number of workers, round by round.
using results = std::vector<result>;

class comparison {
public:
    explicit comparison(const compare_options& o) : o_(o)
    {
        urls_ = o.nodes.empty() ? servers_.emplace(o.local).urls() : o.nodes;
        folder_ = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    }

    void run();
    void print() const;
    void write_json() const;

private:
    [[nodiscard]] result once(const contestant& c, std::size_t workers) const;
    [[nodiscard]] result median(std::size_t who, std::size_t w) const;
    void print_ratios(std::size_t w) const;

    const compare_options& o_;
    std::optional<local_servers> servers_;
    std::vector<std::string> urls_;
    std::filesystem::path folder_;
    /// By place in `o_.workers`, then by contestant.
    std::vector<std::vector<results>> all_;
};

void comparison::run()
{
    all_.assign(o_.workers.size(), std::vector<results>(contestants().size()));
    for (std::size_t round = 0; round < o_.rounds; ++round) {
        for (std::size_t w = 0; w < o_.workers.size(); ++w) {
            for (std::size_t turn = 0; turn < contestants().size(); ++turn) {
                // Each round begins with a different contestant, so that none always has the same
                // neighbour.
                const auto who = (turn + round) % contestants().size();
                const auto r = once(contestants()[who], o_.workers[w]);
                std::cerr << "round " << round + 1 << " of " << o_.rounds << ", " << r.workers
                          << " workers, " << r.name << ": "
                          << static_cast<std::int64_t>(r.cycles_per_second) << " cycles/s\n";
                all_[w][who].push_back(r);
            }
        }
    }
}

result comparison::once(const contestant& c, std::size_t workers) const
{
    auto arguments = c.arguments;
    arguments.insert(arguments.end(),
                     {"--workers", std::to_string(workers), "--seconds", std::to_string(o_.seconds),
                      "--warmup", std::to_string(o_.warm_up), "--nodes"});
    arguments.insert(arguments.end(), urls_.begin(), urls_.end());
    const auto pids = servers_ ? servers_->pids() : o_.server_pids;
    if (!pids.empty()) {
        arguments.emplace_back("--server-pids");
        std::transform(pids.begin(), pids.end(), std::back_inserter(arguments),
                       [](pid_t pid) { return std::to_string(pid); });
    }
    auto r = nlohmann::json::parse(output_of(folder_ / c.program, arguments)).get<result>();
    r.name = c.name;
    return r;
}

template <class T>
T median_of(std::vector<T> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <class Field>
Field median_of(const results& all, Field result::*field)
{
    std::vector<Field> values;
    for (const auto& r : all) {
        values.push_back(r.*field);
    }
    return median_of(std::move(values));
}

// The median of the rounds' ratios, because a machine that is slower for a while is slower for a
// whole round.
double median_ratio(const results& all, const results& floor, double result::*field)
{
    std::vector<double> ratios;
    for (std::size_t round = 0; round < all.size(); ++round) {
        ratios.push_back(all[round].*field / floor[round].*field);
    }
    return median_of(std::move(ratios));
}

result comparison::median(std::size_t who, std::size_t w) const
{
    const auto& all = all_[w][who];
    result r = all.front();
    r.cycles = median_of(all, &result::cycles);
    r.cycles_per_second = median_of(all, &result::cycles_per_second);
    r.acquire_p50_us = median_of(all, &result::acquire_p50_us);
    r.acquire_p99_us = median_of(all, &result::acquire_p99_us);
    r.acquire_p999_us = median_of(all, &result::acquire_p999_us);
    r.client_cpu_us_per_cycle = median_of(all, &result::client_cpu_us_per_cycle);
    r.server_cpu_us_per_cycle = median_of(all, &result::server_cpu_us_per_cycle);
    r.allocations_per_cycle = median_of(all, &result::allocations_per_cycle);
    r.failures = median_of(all, &result::failures);
    r.peak_rss_kib = median_of(all, &result::peak_rss_kib);
    return r;
}

void comparison::print() const
{
    results table;
    for (std::size_t w = 0; w < o_.workers.size(); ++w) {
        for (std::size_t who = 0; who < contestants().size(); ++who) {
            table.push_back(median(who, w));
        }
    }
    std::cout << "Medians of " << o_.rounds << " rounds of " << o_.seconds << " s:\n";
    print_table(std::cout, table);
    std::cout << "\nAgainst " << contestants().front().name
              << ", medians of the ratios of each round:\n"
              << "program      workers  cycles/s  client CPU a cycle\n"
              << std::fixed << std::setprecision(2);
    for (std::size_t w = 0; w < o_.workers.size(); ++w) {
        print_ratios(w);
    }
}

void comparison::print_ratios(std::size_t w) const
{
    const auto& floor = all_[w].front();
    for (std::size_t who = 1; who < contestants().size(); ++who) {
        const auto& all = all_[w][who];
        std::cout << std::left << std::setw(11) << contestants()[who].name << std::right
                  << std::setw(9) << o_.workers[w] << std::setw(10)
                  << median_ratio(all, floor, &result::cycles_per_second) << std::setw(20)
                  << median_ratio(all, floor, &result::client_cpu_us_per_cycle) << '\n';
    }
}

void comparison::write_json() const
{
    if (o_.json.empty()) {
        return;
    }
    nlohmann::json medians;
    nlohmann::json rounds;
    for (std::size_t w = 0; w < o_.workers.size(); ++w) {
        for (std::size_t who = 0; who < contestants().size(); ++who) {
            medians.push_back(median(who, w));
            for (const auto& r : all_[w][who]) {
                rounds.push_back(r);
            }
        }
    }
    std::ofstream file(o_.json);
    file << nlohmann::json{{"medians", medians}, {"rounds", rounds}}.dump(2) << '\n';
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + o_.json);
    }
}

}  // namespace

int compare(const compare_options& o)
{
    comparison c(o);
    c.run();
    c.print();
    c.write_json();
    return 0;
}

}  // namespace redlock::bench
