#include "chaos/fleet.hpp"

#include "support/run.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace redlock::chaos {

fleet::fleet(fleet_options options) : options_(std::move(options)), seats_(options_.clients)
{
    for (unsigned i = 0; i < size(); ++i) {
        start(i);
    }
}

std::vector<std::string> fleet::arguments(unsigned which) const
{
    const auto& c = options_.client;
    std::vector<std::string> result{
        "client",
        "--folder",
        c.place.folder.native(),
        "--process",
        std::to_string(seats_[which].process),
        "--own",
        std::to_string(own(which)),
        "--shared",
        std::to_string(c.shared),
        "--workers",
        std::to_string(c.workers),
        // Several threads call every other client.
        "--threads",
        std::to_string(1 + which % 2),
        "--ttl",
        std::to_string(c.ttl.count()),
        "--node-timeout",
        std::to_string(c.node_timeout.count()),
        "--drift-factor",
        std::to_string(c.drift_factor),
        "--hold",
        std::to_string(c.hold.count()),
        "--wait",
        std::to_string(c.wait.count()),
        "--seed",
        std::to_string(c.seed),
    };
    if (c.heedless) {
        result.emplace_back("--heedless");
    }
    if (c.guarded) {
        result.emplace_back("--guarded");
    }
    result.emplace_back("--nodes");
    result.insert(result.end(), c.nodes.begin(), c.nodes.end());
    return result;
}

void fleet::start(unsigned which)
{
    auto& s = seats_.at(which);
    s.process = static_cast<unsigned>(sources_.size());
    const auto& place = options_.client.place;
    s.wall = std::make_unique<mapped<board>>(place.board(s.process));
    s.running =
        std::make_unique<test::process>(options_.program, arguments(which),
                                        test::process_options{.output = place.output(s.process)});
    s.stopped = false;
    s.going_since = now();
    sources_.push_back({s.process, history_tail(place.history(s.process))});
}

void fleet::kill(unsigned which)
{
    auto& s = seats_.at(which);
    sources_[s.process].died = now();
    s.running->kill();
    s.running.reset();
}

bool fleet::stop(unsigned which)
{
    constexpr int tries = 20;
    auto& s = seats_.at(which);
    for (int i = 0; i < tries; ++i) {
        s.running->stop();
        const auto& steps = (*s.wall)->in_step;
        if (options_.client.heedless ||
            std::all_of(steps.begin(), steps.end(), [](const auto& each) { return each == 0; })) {
            s.stopped = true;
            return true;
        }
        s.running->cont();
    }
    return false;
}

void fleet::cont(unsigned which)
{
    auto& s = seats_.at(which);
    s.running->cont();
    s.stopped = false;
    s.going_since = now();
}

bool fleet::goes(unsigned which) const
{
    const auto& s = seats_.at(which);
    return s.running && !s.stopped;
}

bool fleet::holds_shared(unsigned which) const
{
    const auto& held = (*seats_.at(which).wall)->holds_shared;
    return std::any_of(held.begin(), held.end(), [](const auto& each) { return each != 0; });
}

unsigned fleet::fewest_voting(unsigned nodes) const
{
    unsigned result = nodes;
    for (unsigned i = 0; i < size(); ++i) {
        if (goes(i)) {
            result = std::min<unsigned>(result, (*seats_[i].wall)->nodes_voting);
        }
    }
    return result;
}

void fleet::read(chronicle& to)
{
    for (auto& each : sources_) {
        if (each.read_to_the_end) {
            continue;
        }
        for (const auto& what : each.tail.read()) {
            to.add(each.process, what);
        }
        if (each.died != 0) {
            each.read_to_the_end = true;
            to.died(each.process, each.died);
        }
    }
}

nanos fleet::last_own(const chronicle& from, unsigned which) const
{
    return from.last_acquired(seats_.at(which).process, own(which));
}

std::vector<std::uint64_t> fleet::elements(unsigned resource) const
{
    const mapped<shared_set> set(options_.client.place.set(resource));
    const auto size = std::min<std::uint64_t>(set->size, shared_set::capacity);
    return {set->elements.begin(), set->elements.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::string fleet::last_words(unsigned process) const
{
    std::ifstream file(options_.client.place.output(process));
    return {std::istreambuf_iterator<char>(file), {}};
}

void fleet::check()
{
    for (const auto& s : seats_) {
        if (s.running && !s.running->running()) {
            throw std::runtime_error("client " + std::to_string(s.process) +
                                     " ended by itself, with " + std::to_string(s.running->wait()) +
                                     ": " + last_words(s.process));
        }
    }
}

std::vector<unsigned> fleet::finish(std::chrono::milliseconds bound)
{
    for (const auto& s : seats_) {
        ::kill(s.running->pid(), SIGTERM);
    }
    std::vector<unsigned> stuck;
    const auto end = now() + std::chrono::nanoseconds(bound).count();
    for (unsigned i = 0; i < size(); ++i) {
        auto& child = *seats_[i].running;
        const auto left = std::chrono::nanoseconds(std::max<nanos>(end - now(), 0));
        const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(left);
        if (!test::wait_for([&] { return !child.running(); }, time) || child.wait() != 0) {
            stuck.push_back(i);
        }
    }
    return stuck;
}

}  // namespace redlock::chaos
