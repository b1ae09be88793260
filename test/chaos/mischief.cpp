#include "chaos/mischief.hpp"

#include <algorithm>
#include <iomanip>
#include <stdexcept>
#include <utility>

namespace redlock::chaos {

namespace {

/// Between the first faults of each kind.
constexpr std::chrono::milliseconds apart{300};

std::string full_name(const fault& f)
{
    switch (f.of) {
        case victim::master:
        case victim::clock: return "master: " + f.name;
        case victim::client: return "client: " + f.name;
    }
    return {};
}

}  // namespace

mischief::mischief(std::vector<fault> faults, std::vector<std::unique_ptr<site>>& sites,
                   fleet& clients, const probe& reference, dice& chance, unsigned most_impaired,
                   double pace)
    : sites_(sites),
      clients_(clients),
      reference_(reference),
      chance_(chance),
      most_impaired_(most_impaired),
      masters_(sites.size()),
      processes_(clients.size())
{
    // Each kind strikes once soon, in a random order, so that a short run has all of them.
    std::vector<nanos> first(faults.size());
    std::generate(first.begin(), first.end(), [due = now()]() mutable {
        return std::exchange(due, due + std::chrono::nanoseconds(apart).count());
    });
    chance_.shuffle(first);
    for (std::size_t i = 0; i < faults.size(); ++i) {
        faults[i].per_minute *= pace;
        kinds_.push_back({std::move(faults[i]), first[i]});
    }
}

void mischief::turn()
{
    look_after_masters();
    look_after_clients();
    if (healing_) {
        return;
    }
    // A kind that was never done comes first, then the one that is due for longest.
    std::vector<kind*> due;
    for (auto& each : kinds_) {
        if (each.due <= now() && (each.times == 0 || !catching_up_)) {
            due.push_back(&each);
        }
    }
    std::sort(due.begin(), due.end(), [](const kind* a, const kind* b) {
        return std::pair(a->times != 0, a->due) < std::pair(b->times != 0, b->due);
    });
    for (auto* each : due) {
        begin(*each);
    }
}

std::vector<unsigned> mischief::victims(victim of) const
{
    std::vector<unsigned> result;
    switch (of) {
        case victim::master:
            for (unsigned i = 0; i < masters_.size() && impaired() < most_impaired_; ++i) {
                if (masters_[i].from == nullptr) {
                    result.push_back(i);
                }
            }
            break;
        case victim::clock:
            for (unsigned i = 0; i < masters_.size(); ++i) {
                result.push_back(i);
            }
            break;
        case victim::client:
            for (unsigned i = 0; i < processes_.size(); ++i) {
                if (processes_[i].from == nullptr) {
                    result.push_back(i);
                }
            }
            break;
    }
    return result;
}

void mischief::begin(kind& what)
{
    const auto candidates = victims(what.what.of);
    if (candidates.empty()) {
        return;
    }
    const unsigned which = candidates[chance_.below(candidates.size())];
    const auto time = chance_.between(what.what.shortest, what.what.longest);
    if (!what.what.begin(which, time)) {
        return;
    }
    ++what.times;
    what.due = now() + chance_.wait(what.what.per_minute).count();
    if (what.what.of == victim::clock) {
        return;
    }
    auto& who = what.what.of == victim::master ? masters_[which] : processes_[which];
    who = {&what, now(), now() + std::chrono::nanoseconds(time).count(), 0};
}

void mischief::relieve(suffering& who, unsigned index)
{
    who.from->what.end(index);
    who.from->time += now() - who.since;
    who.relieved = now();
}

void mischief::look_after_masters()
{
    for (unsigned i = 0; i < masters_.size(); ++i) {
        auto& who = masters_[i];
        if (who.from == nullptr) {
            continue;
        }
        if (who.relieved == 0 && (healing_ || who.until <= now())) {
            relieve(who, i);
        }
        if (who.relieved == 0) {
            continue;
        }
        if (!sites_[i]->server.running()) {
            throw std::runtime_error("a master does not come back:\n" + sites_[i]->server.log());
        }
        const auto all = static_cast<unsigned>(masters_.size());
        if (reference_.answers(i, who.relieved) && clients_.fewest_voting(all) > all - impaired()) {
            who = {};
        }
    }
}

void mischief::look_after_clients()
{
    for (unsigned i = 0; i < processes_.size(); ++i) {
        auto& who = processes_[i];
        if (who.from != nullptr && (healing_ || who.until <= now())) {
            relieve(who, i);
            who = {};
        }
    }
}

void mischief::heal()
{
    healing_ = true;
    bring_dates_together();
    turn();
}

/// Sets all dates to the earliest one. A date that is set forward would expire keys during a
/// belief.
void mischief::bring_dates_together()
{
    auto earliest = std::chrono::nanoseconds::max();
    for (const auto& each : sites_) {
        earliest = std::min(earliest, each->clock.ahead());
    }
    for (const auto& each : sites_) {
        each->clock.run_faster(0);
        each->clock.step(std::min(earliest - each->clock.ahead(), std::chrono::nanoseconds(0)));
    }
}

unsigned mischief::impaired() const
{
    return static_cast<unsigned>(std::count_if(masters_.begin(), masters_.end(),
                                               [](const auto& m) { return m.from != nullptr; }));
}

std::string mischief::in_force() const
{
    std::string result;
    for (const auto* group : {&masters_, &processes_}) {
        for (unsigned i = 0; i < group->size(); ++i) {
            const auto& who = (*group)[i];
            if (who.from != nullptr) {
                result += result.empty() ? "" : ", ";
                result += group == &masters_ ? "master " : "client ";
                result += std::to_string(i) + " " +
                          (who.relieved != 0 ? "recovering" : who.from->what.name);
            }
        }
    }
    return result.empty() ? "nothing" : result;
}

std::vector<std::string> mischief::never_done() const
{
    std::vector<std::string> result;
    for (const auto& each : kinds_) {
        if (each.times == 0) {
            result.push_back(full_name(each.what));
        }
    }
    return result;
}

void mischief::print(std::ostream& out) const
{
    out << "injected" << std::string(38, ' ') << "times  seconds\n";
    for (const auto& each : kinds_) {
        out << "  " << std::left << std::setw(42) << full_name(each.what) << std::right
            << std::setw(7) << each.times << std::setw(9) << std::fixed << std::setprecision(1)
            << static_cast<double>(each.time) / 1e9 << '\n';
    }
}

}  // namespace redlock::chaos
