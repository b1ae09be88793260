#include "client_sim/clockwork.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::test {

base::nanos clockwork::some_time(std::chrono::milliseconds most) noexcept
{
    if (one_in(2)) {
        return {};
    }
    return std::chrono::microseconds{below(static_cast<std::uint32_t>(most.count()) * 1000 + 1)};
}

void clockwork::mix(std::uint64_t word) noexcept
{
    hash_ = scramble(hash_ ^ word) + 0x9e3779b97f4a7c15u;
}

void clockwork::note(std::string_view what, std::uint64_t a, std::uint64_t b)
{
    for (const char c : what) {
        mix(static_cast<unsigned char>(c));
    }
    mix(a);
    mix(b);
    mix(static_cast<std::uint64_t>(now().time_since_epoch().count()));
    if (trace_ != nullptr) {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
            now().time_since_epoch() - std::chrono::seconds{1000});
        *trace_ << us.count() << " us  " << what << ' ' << a << ' ' << b << '\n';
    }
}

void clockwork::fail(std::string_view what)
{
    note(what);
    if (failure_.empty()) {
        failure_ = what;
    }
}

clockwork::event_id clockwork::at(base::nanos after, std::function<void()> what)
{
    return events_.at(events_.now() + std::max(after, base::nanos{}), std::move(what));
}

void clockwork::advance()
{
    const auto [id, what] = events_.take();
    note("event", id.second);
    what();
}

void clockwork::lag(base::nanos by)
{
    events_.pass_to(events_.now() + by);
    note("lag");
}

void clockwork::suspend(base::nanos by)
{
    asleep_ += by;
    note("suspended");
}

}  // namespace redlock::test
