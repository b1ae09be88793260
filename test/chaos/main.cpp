// Breaks five real nodes, their network, their clocks and its own clients in every way, and checks
// that locks stay locks.

#include "chaos/client.hpp"
#include "chaos/director.hpp"
#include "chaos/interruption.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace redlock::chaos;

/// The sub-command with which the director starts its clients. Not for users.
CLI::App* add_client(CLI::App& app, client_options& o)
{
    auto* sub = app.add_subcommand("client")->group("");
    sub->add_option("--folder", o.place.folder)->required();
    sub->add_option("--process", o.process)->required();
    sub->add_option("--own", o.own)->required();
    sub->add_option("--shared", o.shared)->required();
    sub->add_option("--workers", o.workers)->required();
    sub->add_option("--threads", o.threads)->required();
    sub->add_option_function<long>("--ttl",
                                   [&](long ms) { o.ttl = std::chrono::milliseconds(ms); });
    sub->add_option_function<long>(
        "--node-timeout", [&](long ms) { o.node_timeout = std::chrono::milliseconds(ms); });
    sub->add_option("--drift-factor", o.drift_factor);
    sub->add_option_function<long>("--hold",
                                   [&](long ms) { o.hold = std::chrono::milliseconds(ms); });
    sub->add_option_function<long>("--wait",
                                   [&](long ms) { o.wait = std::chrono::milliseconds(ms); });
    sub->add_option("--seed", o.seed);
    sub->add_flag("--heedless", o.heedless);
    sub->add_flag("--guarded", o.guarded);
    sub->add_option("--nodes", o.nodes)->required();
    return sub;
}

std::vector<std::string> scenario_names()
{
    std::vector<std::string> result;
    for (const auto& each : scenarios()) {
        result.emplace_back(each.name);
    }
    return result;
}

std::string descriptions()
{
    std::string result = "Scenarios:\n";
    for (const auto& each : scenarios()) {
        result.append("  ").append(each.name).append(": ").append(each.what).append("\n");
    }
    return result;
}

/// The tests' exit code for a run that is well but incomplete.
constexpr int exit_in_part = 77;

/// A number that each scenario has of its own.
CLI::Option* add_number(CLI::App& app, const char* name, unsigned& number, const char* what)
{
    return app.add_option(name, number, what)->default_str("the scenario's");
}

void add_run(CLI::App& app, run_options& o, std::string& name, double& seconds, bool& whole)
{
    app.add_option("--scenario", name, "What goes wrong, see below")
        ->capture_default_str()
        ->check(CLI::IsMember(scenario_names()));
    app.add_option("--seconds", seconds,
                   "How long it goes wrong, and on until each fault was injected once and progress "
                   "was watched for long enough; where something has to be seen, how long to look "
                   "for it at most")
        ->capture_default_str()
        ->check(CLI::Range(1.0, 1e6));
    app.add_option("--seed", o.seed, "Of the dice; it is printed [a random one]");
    add_number(app, "--clients", o.clients, "Client processes")->check(CLI::Range(2, 64));
    add_number(app, "--workers", o.workers, "Workers in each; the first has a lock for itself")
        ->check(CLI::Range(std::size_t{2}, max_workers));
    add_number(app, "--resources", o.resources, "Locks that all others contend for")
        ->check(CLI::Range(1, 99));
    app.add_flag("--whole", whole,
                 "End with status 77 where some faults cannot be injected on this machine: to lose "
                 "packets takes root, nft and a network namespace");
    app.footer(descriptions());
}

int run_scenario(run_options& o, const std::string& name, double seconds, bool whole)
{
    o.time = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
    o.program = std::filesystem::read_symlink("/proc/self/exe");
    o.shim = CLOCK_SHIM;
    for (const auto& each : scenarios()) {
        if (each.name == name) {
            o.play = &each;
        }
    }
    note_interruptions();
    switch (run(o)) {
        case outcome::as_demanded: return 0;
        case outcome::in_part: return whole ? exit_in_part : 0;
        case outcome::failed: return 1;
    }
    return 1;
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app("Locks on real masters, with everything going wrong");
    app.name("redlock-chaos");
    run_options options;
    options.seed = std::random_device()();
    client_options client;
    std::string name = "minority";
    double seconds = 60;
    bool whole = false;
    add_run(app, options, name, seconds, whole);
    const auto* as_client = add_client(app, client);
    try {
        app.parse(argc, argv);
        if (as_client->parsed()) {
            return run_client(client);
        }
        return run_scenario(options, name, seconds, whole);
    } catch (const CLI::ParseError& e) {
        return app.exit(e);
    } catch (const interruption& e) {
        std::cerr << "redlock-chaos: interrupted\n";
        return 128 + e.number;
    } catch (const std::exception& e) {
        std::cerr << "redlock-chaos: " << e.what() << '\n';
        return 2;
    }
}
