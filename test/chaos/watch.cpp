#include "chaos/watch.hpp"

#include <algorithm>
#include <cstddef>

namespace redlock::chaos {

namespace {

/// Between two looks. If it takes longer, the machine is too busy to judge.
constexpr nanos on_time = 500'000'000;

/// Since when at least one client runs.
std::optional<nanos> anybody_goes_since(const outlook& all)
{
    std::optional<nanos> result;
    for (const auto& each : all.clients) {
        if (each.goes) {
            result = std::min(result.value_or(each.going_since), each.going_since);
        }
    }
    return result;
}

}  // namespace

std::optional<std::string> too_little(const watch_record& what, nanos time)
{
    for (const auto& kind : {what.own, what.shared}) {
        if (kind.unbroken <= kind.patience) {
            return in_ms(kind.unbroken) + " at a stretch, where it takes more than " +
                   in_ms(kind.patience);
        }
    }
    if (2 * what.counted < time) {
        return in_ms(what.counted) + " of " + in_ms(time);
    }
    return std::nullopt;
}

progress_watch::progress_watch(std::chrono::nanoseconds own_patience,
                               std::chrono::nanoseconds shared_patience)
{
    seen_.own.patience = own_patience.count();
    seen_.shared.patience = shared_patience.count();
}

std::optional<std::string> progress_watch::look(nanos at, bool majority_answers, const outlook& all)
{
    if (!majority_answers || at - last_look_ > on_time) {
        possible_since_ = at;
    } else {
        seen_.counted += at - last_look_;
    }
    last_look_ = at;
    std::optional<std::string> complaint;
    for (std::size_t i = 0; i < all.clients.size() && !complaint; ++i) {
        const auto& c = all.clients[i];
        if (c.goes) {
            complaint = look_at(seen_.own, at, c.going_since, c.last_acquired,
                                "client " + std::to_string(i) + " could not take a free lock");
        }
    }
    const auto somebody = anybody_goes_since(all);
    for (std::size_t i = 0; i < all.shared.size() && somebody && !complaint; ++i) {
        complaint = look_at(seen_.shared, at, *somebody, all.shared[i].held_until,
                            "no client had the contended lock " + std::to_string(i));
    }
    return complaint;
}

std::optional<std::string> progress_watch::look_at(watch_record::locks& kind, nanos at, nanos since,
                                                   nanos acquired, const std::string& without)
{
    const auto possible = std::max(possible_since_, since);
    const auto time = at - std::max(possible, acquired);
    kind.unbroken = std::max(kind.unbroken, at - possible);
    kind.longest_without = std::max(kind.longest_without, time);
    if (time <= kind.patience) {
        return std::nullopt;
    }
    // One complaint for each such time.
    possible_since_ = at;
    return without + " for " + in_ms(time) + ", while a majority answered";
}

std::string not_taken_since(nanos then, const outlook& all)
{
    std::string result;
    const auto add = [&](const char* what, std::size_t which) {
        result += result.empty() ? "" : ", ";
        result += what + std::to_string(which);
    };
    for (std::size_t i = 0; i < all.clients.size(); ++i) {
        if (!all.clients[i].goes || all.clients[i].last_acquired < then) {
            add("that of client ", i);
        }
    }
    for (std::size_t i = 0; i < all.shared.size(); ++i) {
        if (all.shared[i].last_acquired < then) {
            add("contended ", i);
        }
    }
    return result;
}

}  // namespace redlock::chaos
