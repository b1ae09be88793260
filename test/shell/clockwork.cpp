#include "shell/clockwork.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::test {

namespace {

/// The finaliser of splitmix64.
std::uint64_t scramble(std::uint64_t z) noexcept
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

}  // namespace

std::uint64_t clockwork::draw() noexcept
{
    return scramble(chance_ += 0x9e3779b97f4a7c15u);
}

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
    const event_id id{steady_ + std::max(after, base::nanos{}), ++serials_};
    events_.emplace(id, std::move(what));
    return id;
}

void clockwork::advance()
{
    auto next = events_.extract(events_.begin());
    steady_ = std::max(steady_, next.key().first);
    note("event", next.key().second);
    next.mapped()();
}

void clockwork::lag(base::nanos by)
{
    steady_ += by;
    note("lag");
}

void clockwork::suspend(base::nanos by)
{
    asleep_ += by;
    note("suspended");
}

}  // namespace redlock::test
