#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace redlock::chaos {

/// All random choices of the director, from one seed.
class dice {
public:
    explicit dice(std::uint64_t seed) : engine_(seed) {}

    /// Both ends included.
    std::int64_t between(std::int64_t least, std::int64_t most)
    {
        return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
    }

    std::chrono::milliseconds between(std::chrono::milliseconds least,
                                      std::chrono::milliseconds most)
    {
        return std::chrono::milliseconds(between(least.count(), most.count()));
    }

    std::size_t below(std::size_t bound)
    {
        return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(bound) - 1));
    }

    bool one_in(std::int64_t n) { return between(1, n) == 1; }

    template <class Range>
    void shuffle(Range& all)
    {
        std::shuffle(all.begin(), all.end(), engine_);
    }

    /// The time until the next event of this rate.
    std::chrono::nanoseconds wait(double per_minute)
    {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(
            std::exponential_distribution<double>(per_minute)(engine_) * 60e9));
    }

    /**
     * Bytes that no answer and no command contains: neither letters nor digits. The bytes after
     * them on a connection are lost as well, so they can spoil a vote but not forge one. A node
     * that forges votes lies, and a single liar may be the one node that two majorities share.
     */
    std::string noise()
    {
        std::string result(below(60) + 4, '\0');
        for (auto& c : result) {
            const auto byte = static_cast<unsigned char>(between(0, 255));
            const bool alphanumeric = (byte >= '0' && byte <= '9') ||
                                      (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
            c = static_cast<char>(alphanumeric ? byte | 0x80 : byte);
        }
        return result;
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace redlock::chaos
