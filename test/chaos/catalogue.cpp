#include "chaos/catalogue.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::chaos {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::direction;
using test::ending;

namespace {

using clock = std::chrono::steady_clock;

fault of_master(const char* name, double per_minute, milliseconds shortest, milliseconds longest,
                std::function<void(unsigned, milliseconds)> begin,
                std::function<void(unsigned)> end)
{
    return {name,
            victim::master,
            per_minute,
            shortest,
            longest,
            [begin = std::move(begin)](unsigned i, milliseconds time) {
                begin(i, time);
                return true;
            },
            std::move(end)};
}

/// A fault of the network in front of a node.
template <class Begin, class End>
fault of_network(const stage& s, const char* name, double per_minute, milliseconds shortest,
                 milliseconds longest, Begin begin, End end)
{
    auto& sites = s.sites;
    return of_master(
        name, per_minute, shortest, longest,
        [&sites, begin](unsigned i, milliseconds) { begin(sites[i]->network); },
        [&sites, end](unsigned i) { end(sites[i]->network); });
}

constexpr auto over_at_once = [](test::proxy&) {};

/// A fault of the present connections.
template <class Begin>
fault of_connections(const stage& s, const char* name, Begin begin)
{
    return of_network(s, name, 12, 20ms, 300ms, begin, over_at_once);
}

fault held(const stage& s, const char* name, bool up, bool down)
{
    return of_network(
        s, name, 8, 100ms, 1500ms,
        [=](test::proxy& p) {
            if (up) {
                p.hold(direction::up);
            }
            if (down) {
                p.hold(direction::down);
            }
        },
        [](test::proxy& p) {
            p.release(direction::up);
            p.release(direction::down);
        });
}

fault delayed(const stage& s)
{
    auto& chance = s.chance;
    return of_network(
        s, "delayed", 12, 200ms, 2000ms,
        [&chance](test::proxy& p) {
            p.delay(direction::up, chance.between(0ms, 250ms));
            p.delay(direction::down, chance.between(0ms, 250ms));
        },
        [](test::proxy& p) {
            p.delay(direction::up, 0ms);
            p.delay(direction::down, 0ms);
        });
}

fault split(const stage& s)
{
    return of_network(
        s, "split into bytes", 12, 100ms, 1000ms,
        [](test::proxy& p) {
            p.split(direction::up, 1);
            p.split(direction::down, 1);
        },
        [](test::proxy& p) {
            p.split(direction::up, test::proxy::no_limit);
            p.split(direction::down, test::proxy::no_limit);
        });
}

fault cut_midway(const stage& s)
{
    auto& chance = s.chance;
    return of_network(
        s, "cut within messages", 12, 50ms, 500ms,
        [&chance](test::proxy& p) {
            const auto way = chance.one_in(2) ? direction::up : direction::down;
            p.cut_after(way, chance.below(200), chance.one_in(2) ? ending::fin : ending::rst);
        },
        [](test::proxy& p) { p.cut_never(); });
}

fault refused(const stage& s)
{
    return of_network(
        s, "connections refused", 8, 100ms, 1000ms,
        [](test::proxy& p) {
            p.refuse();
            p.cut(ending::rst);
        },
        [](test::proxy& p) { p.accept(); });
}

fault kills(const stage& s, const char* name, double per_minute, test::memory files,
            milliseconds longest)
{
    auto& sites = s.sites;
    return of_master(
        name, per_minute, 0ms, longest,
        [&sites](unsigned i, milliseconds) { sites[i]->server.kill(); },
        [&sites, files](unsigned i) { sites[i]->server.launch(files); });
}

fault frozen(const stage& s, const char* name, double per_minute)
{
    auto& sites = s.sites;
    return of_master(
        name, per_minute, 50ms, 2000ms,
        [&sites](unsigned i, milliseconds) { sites[i]->server.stop(); },
        [&sites](unsigned i) { sites[i]->server.cont(); });
}

/// A command that the server refuses has no effect.
bool does(const test::server& server, const std::vector<std::string>& command)
{
    return !server.ask(command).is_error();
}

fault paused(const stage& s, const char* name, const char* what)
{
    auto& sites = s.sites;
    return {
        name,
        victim::master,
        8,
        100ms,
        1500ms,
        [&sites, what](unsigned i, milliseconds time) {
            return does(sites[i]->server, {"CLIENT", "PAUSE", std::to_string(time.count()), what});
        },
        [](unsigned) {}};
}

fault asleep(const stage& s)
{
    auto& sites = s.sites;
    return {"asleep (DEBUG SLEEP)",
            victim::master,
            12,
            50ms,
            1500ms,
            [&sites](unsigned i, milliseconds time) {
                // The node answers only after its sleep, so permission is checked before.
                if (!does(sites[i]->server, {"DEBUG", "SLEEP", "0"})) {
                    return false;
                }
                sites[i]->sleeper = sites[i]->server.connect();
                const auto seconds = std::to_string(static_cast<double>(time.count()) / 1000);
                sites[i]->sleeper->send(test::wire::command({"DEBUG", "SLEEP", seconds}));
                return true;
            },
            [&sites](unsigned i) { sites[i]->sleeper.reset(); }};
}

/// The node answers with an error and forgets nothing, as it evicts no key.
fault out_of_memory(const stage& s)
{
    auto& sites = s.sites;
    return {"out of memory (maxmemory 1)",
            victim::master,
            12,
            100ms,
            1000ms,
            [&sites](unsigned i, milliseconds) {
                return does(sites[i]->server, {"CONFIG", "SET", "maxmemory", "1"});
            },
            [&sites](unsigned i) {
                if (!does(sites[i]->server, {"CONFIG", "SET", "maxmemory", "0"})) {
                    throw std::runtime_error("a master does not take its memory back");
                }
            }};
}

fault of_packets(const stage& s, const char* name, packet_fate fate)
{
    auto& sites = s.sites;
    const auto& packets = *s.packets;
    return of_master(
        name, 8, 100ms, 1500ms,
        [&sites, &packets, fate](unsigned i, milliseconds) {
            packets.begin(fate, sites[i]->network.port());
        },
        [&sites, &packets, fate](unsigned i) { packets.end(fate, sites[i]->network.port()); });
}

/// A fault of enough clocks at once that a majority would forget a key.
template <class Change>
fault of_majority_clocks(const stage& s, const char* name, Change change)
{
    auto& sites = s.sites;
    return {name,
            victim::clock,
            120,
            0ms,
            0ms,
            [&sites, change](unsigned first, milliseconds) {
                for (std::size_t i = 0; i < sites.size() / 2 + 1; ++i) {
                    change(sites[(first + i) % sites.size()]->clock);
                }
                return true;
            },
            {}};
}

fault rate_changed(const stage& s, nanoseconds farthest)
{
    auto& sites = s.sites;
    auto& chance = s.chance;
    return {"clock rate changed (up to 5 %)",
            victim::clock,
            60,
            0ms,
            0ms,
            [&sites, &chance, farthest](unsigned i, milliseconds) {
                clock_dial& dial = sites[i]->clock;
                auto by = chance.between(-50'000, 50'000);
                if (farthest != clock_dial::no_limit && (by > 0) == (dial.ahead() > 0ns)) {
                    by = -by;  // at its limit it would run normally
                }
                dial.run_faster(by, farthest);
                return true;
            },
            {}};
}

fault set_back(const stage& s, nanoseconds farthest)
{
    auto& sites = s.sites;
    auto& chance = s.chance;
    return {"clock set back (up to 300 ms)",
            victim::clock,
            15,
            0ms,
            0ms,
            [&sites, &chance, farthest](unsigned i, milliseconds) {
                const auto by = chance.between(1ms, 300ms);
                if (sites[i]->clock.ahead() - by < -farthest) {
                    return false;
                }
                sites[i]->clock.step(-by);
                return true;
            },
            {}};
}

/// By less than the span in which a key expires during a belief, see clock_faults().
fault set_forward(const stage& s, nanoseconds farthest)
{
    auto& sites = s.sites;
    const auto forward = s.ttl * 3 / 100;
    const auto apart = 4 * s.ttl;
    auto last = std::make_shared<std::vector<clock::time_point>>(sites.size());
    return {
        "clock set forward (3 % of a ttl)",
        victim::clock,
        30,
        0ms,
        0ms,
        [&sites, forward, apart, last, farthest](unsigned i, milliseconds) {
            if (clock::now() - (*last)[i] < apart || sites[i]->clock.ahead() > farthest - forward) {
                return false;
            }
            (*last)[i] = clock::now();
            sites[i]->clock.step(forward);
            return true;
        },
        {}};
}

fault of_clients(const stage& s, const char* name, double per_minute, milliseconds shortest,
                 milliseconds longest)
{
    auto& clients = s.clients;
    return {name,
            victim::client,
            per_minute,
            shortest,
            longest,
            [&clients](unsigned i, milliseconds) { return clients.stop(i); },
            [&clients](unsigned i) { clients.cont(i); }};
}

fault killed(const stage& s, const char* name, double per_minute)
{
    auto& clients = s.clients;
    return {name,
            victim::client,
            per_minute,
            0ms,
            1000ms,
            [&clients](unsigned i, milliseconds) {
                clients.kill(i);
                return true;
            },
            [&clients](unsigned i) { clients.start(i); }};
}

/// The fault strikes only clients that hold no shared lock.
fault while_it_waits(const stage& s, fault f)
{
    f.begin = [&clients = s.clients, begin = std::move(f.begin)](unsigned i, milliseconds time) {
        return !clients.holds_shared(i) && begin(i, time);
    };
    return f;
}

constexpr std::string_view queue_suffix = ":redlock:queue";
constexpr std::string_view ticket_suffix = ":redlock:ticket";

using keys = std::vector<std::string>;

keys keys_with(const test::server& server, std::string_view suffix)
{
    keys result;
    for (auto& each : server.ask({"KEYS", "*" + std::string(suffix)}).items) {
        result.push_back(std::move(each.text));
    }
    return result;
}

keys queues_of(const test::server& server)
{
    return keys_with(server, queue_suffix);
}

/// The keys of all queues, and of the tickets in them.
keys all_of_queues(const test::server& server)
{
    keys result = keys_with(server, ticket_suffix);
    const keys queues = queues_of(server);
    result.insert(result.end(), queues.begin(), queues.end());
    return result;
}

void remove(const test::server& server, const keys& all)
{
    for (const auto& key : all) {
        server.command({"DEL", key});
    }
}

/// The fault strikes only nodes with a queue.
fault of_queue_node(const stage& s, fault f)
{
    f.begin = [&sites = s.sites, begin = std::move(f.begin)](unsigned i, milliseconds time) {
        return !queues_of(sites[i]->server).empty() && begin(i, time);
    };
    return f;
}

/// A fault that is over at once.
template <class Harm>
fault of_queues(const stage& s, const char* name, double per_minute, Harm harm)
{
    auto& sites = s.sites;
    return of_queue_node(
        s,
        of_master(
            name, per_minute, 0ms, 0ms,
            [&sites, harm](unsigned i, milliseconds) { harm(sites[i]->server); }, [](unsigned) {}));
}

fault some_deleted(const stage& s)
{
    auto& chance = s.chance;
    return of_queues(s, "some keys of queues deleted", 4, [&chance](const test::server& server) {
        keys some = all_of_queues(server);
        chance.shuffle(some);
        some.resize(chance.below(some.size() + 1));
        remove(server, some);
    });
}

fault other_ttls(const stage& s)
{
    auto& chance = s.chance;
    return of_queues(s, "other ttls for keys of queues", 4, [&chance](const test::server& server) {
        for (const auto& key : all_of_queues(server)) {
            if (chance.one_in(2)) {
                server.command({"PERSIST", key});
            } else {
                server.command({"PEXPIRE", key, std::to_string(chance.between(1, 2000))});
            }
        }
    });
}

fault other_type(const stage& s)
{
    auto& sites = s.sites;
    return of_queue_node(
        s, of_master(
               "texts instead of queues", 4, 50ms, 1000ms,
               [&sites](unsigned i, milliseconds) {
                   for (const auto& queue : queues_of(sites[i]->server)) {
                       sites[i]->server.command({"SET", queue, "no queue"});
                   }
               },
               [&sites](unsigned i) { remove(sites[i]->server, queues_of(sites[i]->server)); }));
}

/// Either the name of a ticket, or not.
std::string some_name(dice& chance)
{
    if (chance.one_in(3)) {
        return chance.noise();
    }
    std::string result(16, '0');
    for (char& c : result) {
        c = "0123456789abcdef"[chance.below(16)];
    }
    return result;
}

/// With a ticket key, the member looks like a waiter that never asks.
void add_garbage(const test::server& server, const std::string& queue, dice& chance)
{
    const std::array<std::string, 4> numbers{
        "-inf", std::to_string(chance.between(0, 1'000'000'000'000)), "9007199254740991", "+inf"};
    const std::string name = some_name(chance);
    server.command({"ZADD", queue, numbers[chance.below(numbers.size())], name});
    const std::string resource = queue.substr(0, queue.size() - queue_suffix.size());
    const std::string key = resource + ":" + name + std::string(ticket_suffix);
    switch (chance.below(4)) {
        case 0: break;
        case 1: server.command({"SET", key, "", "PX", "30000"}); break;
        case 2: server.command({"SET", key, ""}); break;
        case 3: server.command({"RPUSH", key, "no ticket"}); break;
    }
}

fault garbage(const stage& s)
{
    auto& chance = s.chance;
    return of_queues(s, "garbage in queues", 8, [&chance](const test::server& server) {
        for (const auto& queue : queues_of(server)) {
            for (auto left = chance.between(1, 10); left > 0; --left) {
                add_garbage(server, queue, chance);
            }
        }
    });
}

}  // namespace

std::vector<fault> restarts(const stage& s)
{
    return {kills(s, "killed (SIGKILL, fsync always)", 15, test::memory::kept, 800ms)};
}

std::vector<fault> server_faults(const stage& s)
{
    return {
        frozen(s, "stopped (SIGSTOP)", 12),
        asleep(s),
        paused(s, "paused (CLIENT PAUSE ALL)", "ALL"),
        paused(s, "paused (CLIENT PAUSE WRITE)", "WRITE"),
        out_of_memory(s),
    };
}

std::vector<fault> network_faults(const stage& s)
{
    auto& chance = s.chance;
    return {
        of_connections(s, "connections ended (FIN)", [](test::proxy& p) { p.cut(ending::fin); }),
        of_connections(s, "connections ended (RST)", [](test::proxy& p) { p.cut(ending::rst); }),
        cut_midway(s),
        refused(s),
        of_connections(s, "half-open: master gone", [](test::proxy& p) { p.sever(direction::up); }),
        of_connections(s, "half-open: clients gone",
                       [](test::proxy& p) { p.sever(direction::down); }),
        of_connections(s, "garbled requests",
                       [&chance](test::proxy& p) { p.spoil(direction::up, chance.noise()); }),
        of_connections(s, "garbled replies",
                       [&chance](test::proxy& p) { p.spoil(direction::down, chance.noise()); }),
        delayed(s),
        split(s),
        held(s, "requests held", true, false),
        held(s, "replies held", false, true),
        held(s, "black hole", true, true),
    };
}

std::vector<fault> packet_faults(const stage& s)
{
    if (s.packets == nullptr) {
        return {};
    }
    return {
        of_packets(s, "packets to it dropped", packet_fate::swallowed_up),
        of_packets(s, "packets from it dropped", packet_fate::swallowed_down),
        of_packets(s, "packets to it rejected", packet_fate::rejected),
        of_packets(s, "packets dropped, 30 %", packet_fate::scattered),
    };
}

/**
 * Faults within the clients' allowance for drift of 10 % of the ttl.
 *
 * A lease is valid for 0.9 ttl - 2 ms. Its key lives until the node's clock has gone on by ttl. The
 * clock is at most 5 % fast, and once in that time it is set forward by at most 3 % of the shortest
 * ttl. So the key lives for at least 0.97 / 1.05 = 0.923 ttl, and no key expires under a valid
 * lease, however many nodes have such clocks. A clock that is set back or slow lets keys live
 * longer, which only costs time. A larger step forward on a single node is beyond the model: a
 * lease on three of five nodes would have two left.
 */
std::vector<fault> clock_faults(const stage& s, nanoseconds farthest)
{
    return {rate_changed(s, farthest), set_back(s, farthest), set_forward(s, farthest)};
}

std::vector<fault> client_faults(const stage& s)
{
    return {
        of_clients(s, "stopped (SIGSTOP), shortly", 20, 10ms, s.ttl / 2),
        of_clients(s, "stopped (SIGSTOP), past validity", 10, 2 * s.ttl, 3 * s.ttl),
        killed(s, "killed (SIGKILL)", 15),
    };
}

std::vector<fault> queue_faults(const stage& s)
{
    return {
        of_queue_node(s, kills(s, "queue node killed (SIGKILL)", 4, test::memory::kept, 800ms)),
        of_queue_node(s, frozen(s, "queue node stopped (SIGSTOP)", 4)),
        of_queues(s, "all keys of queues deleted", 4,
                  [](const test::server& server) { remove(server, all_of_queues(server)); }),
        some_deleted(s),
        other_ttls(s),
        other_type(s),
        garbage(s),
    };
}

std::vector<fault> waiter_faults(const stage& s)
{
    return {
        while_it_waits(s, killed(s, "killed (SIGKILL) while it waits", 8)),
        while_it_waits(s, of_clients(s, "stopped (SIGSTOP) while it waits", 12, 10ms, 3 * s.ttl)),
    };
}

std::vector<fault> guarded_losses(const stage& s)
{
    auto& sites = s.sites;
    return {
        kills(s, "killed (SIGKILL), and back without its keys", 15, test::memory::lost, 500ms),
        of_master(
            "flushed (FLUSHALL)", 10, 0ms, 0ms,
            [&sites](unsigned i, milliseconds) { sites[i]->server.flush(); }, [](unsigned) {}),
    };
}

std::vector<fault> forgetful_restarts(const stage& s)
{
    return {kills(s, "killed, and back without its keys", 600, test::memory::lost, 20ms)};
}

std::vector<fault> steps_of_majorities(const stage& s)
{
    return {of_majority_clocks(s, "clocks of a majority set forward",
                               [by = 2 * s.ttl](clock_dial& clock) { clock.step(by); })};
}

std::vector<fault> fast_majorities(const stage& s)
{
    return {of_majority_clocks(s, "clocks of a majority twice as fast",
                               [](clock_dial& clock) { clock.run_faster(1'000'000); })};
}

std::vector<fault> pauses_past_validity(const stage& s)
{
    return {of_clients(s, "stopped (SIGSTOP), past validity", 60, 2 * s.ttl, 3 * s.ttl)};
}

}  // namespace redlock::chaos
