#include "chaos/watch.hpp"

#include <algorithm>

namespace redlock::chaos {

namespace {

/// Between two looks; more, and the machine has no time for anybody.
constexpr nanos on_time = 500'000'000;

}  // namespace

std::optional<std::string> progress_watch::look(nanos at, bool majority_answers,
                                                const std::vector<sight>& clients)
{
    if (!majority_answers || at - last_look_ > on_time) {
        possible_since_ = at;
    } else {
        counted_ += at - last_look_;
    }
    last_look_ = at;
    for (std::size_t i = 0; i < clients.size(); ++i) {
        const auto& c = clients[i];
        if (!c.goes) {
            continue;
        }
        const auto without = at - std::max({possible_since_, c.going_since, c.last_acquired});
        longest_ = std::max(longest_, without);
        if (without > patience_) {
            // One complaint for each time it is too long.
            possible_since_ = at;
            return "client " + std::to_string(i) + " could not take a free lock for " +
                   std::to_string(without / 1'000'000) + " ms, while a majority answered";
        }
    }
    return std::nullopt;
}

}  // namespace redlock::chaos
