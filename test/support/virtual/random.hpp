#pragma once

#include "base/entropy.hpp"
#include "base/instant.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace redlock::test {

/// The finaliser of SplitMix64.
[[nodiscard]] inline std::uint64_t scramble(std::uint64_t z) noexcept
{
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

/// Numbers from a seed, the same on every machine (SplitMix64, Steele, Lea and Flood, 2014). Each
/// kind of decision has its own source, so leaving one kind out does not change the others.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}
    random_source(std::uint64_t seed, std::uint64_t purpose) noexcept
        : state_(scramble(seed ^ scramble(purpose)))
    {}

    std::uint64_t next() noexcept
    {
        state_ += 0x9e3779b97f4a7c15U;
        return scramble(state_);
    }

    /// From 0 to n - 1. 0 for n = 0.
    std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : next() % n; }

    std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept
    {
        return least + below(most - least + 1);
    }

    base::nanos between(base::nanos least, base::nanos most) noexcept
    {
        const auto span = static_cast<std::uint64_t>((most - least).count());
        return least + base::nanos{static_cast<std::int64_t>(below(span + 1))};
    }

    bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

    /// The waiting time between independent events. At most twenty times the mean.
    base::nanos waiting(base::nanos mean) noexcept
    {
        const double u = static_cast<double>((next() >> 11) + 1) * 0x1.0p-53;
        const double factor = std::fmin(-std::log(u), 20.0);
        return base::nanos{static_cast<std::int64_t>(static_cast<double>(mean.count()) * factor)};
    }

private:
    std::uint64_t state_;
};

/// Owner tokens and back-offs of a client, from a seed.
class seeded_entropy final : public base::entropy {
public:
    explicit seeded_entropy(std::uint64_t seed, std::uint64_t purpose = 0) : random_(seed, purpose)
    {}
    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override
    {
        std::ranges::generate(out, [this] { return static_cast<std::byte>(random_.next()); });
        return true;
    }

private:
    random_source random_;
};

}  // namespace redlock::test
