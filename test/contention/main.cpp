#include "contention/play.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

// How the time to hand a lock over grows with the number of clients that want it.

namespace {

using namespace redlock::contention;

struct named {
    manner how;
    std::string_view name;
};
constexpr std::array manners{
    named{manner::told_one_first, "told, one node first"},
    named{manner::told_all, "told, all nodes at once"},
    named{manner::by_chance, "not told: by chance"},
};

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app(
        "Virtual time: how the time to hand a lock over grows with the clients that want it");
    std::vector<unsigned> clients{1, 2, 4, 8, 16, 32, 64, 128, 256};
    plan p;
    std::uint64_t hold_us = 1000;
    bool checks = false;
    app.add_option("--clients", clients, "How many, separated by commas")->delimiter(',');
    app.add_option("--nodes", p.nodes, "Masters")->check(CLI::Range(1, 32))->capture_default_str();
    app.add_option("--seed", p.seed, "Of the chances")->capture_default_str();
    app.add_option("--hold", hold_us, "Microseconds that each holds it")->capture_default_str();
    app.add_flag("--check", checks, "Fail where somebody is not served, or as late as by chance");
    CLI11_PARSE(app, argc, argv);
    p.hold = std::chrono::microseconds{hold_us};

    bool is_well = true;
    std::printf("%-24s %7s %11s %11s %11s %9s %9s\n", "refused clients are", "clients",
                "handover us", "wait p50 ms", "wait max ms", "commands", "attempts");
    for (const unsigned n : clients) {
        double first = 0;
        for (const named& m : manners) {
            p.how = m.how;
            p.clients = n;
            const outcome o = run(p);
            std::printf("%-24s %7u %11.0f %11.2f %11.2f %9.1f %9.1f%s%s\n", m.name.data(), n,
                        o.handover_us, o.wait_p50_ms, o.wait_max_ms, o.commands, o.attempts,
                        o.starved ? "  SOMEBODY WAS NOT SERVED" : "",
                        o.shared ? "  TWO HAD IT" : "");
            is_well = is_well && !o.shared && !o.starved;
            first = m.how == manner::told_one_first ? o.handover_us : first;
            is_well = is_well && (m.how != manner::by_chance || first < o.handover_us);
        }
    }
    return checks && !is_well ? 1 : 0;
}
