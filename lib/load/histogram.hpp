#pragma once

#include <boost/histogram/histogram.hpp>
#include <boost/histogram/storage_adaptor.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace redlock::bench {

/**
 * An axis of nanoseconds from 1 us to 68 s. Each power of two has 128 equal bins, so a bin is at
 * most 1/128 of its value wide. The index uses shifts only, because a logarithm for each sample
 * costs four times as much (8 ns against 2). Values outside go to the first or last bin.
 */
class latency_axis {
public:
    [[nodiscard]] int index(std::uint64_t ns) const noexcept
    {
        ns = std::clamp(ns, lowest, highest);
        const int shift = static_cast<int>(std::bit_width(ns)) - sub_bits - 1;
        const auto mantissa = static_cast<int>(ns >> shift);
        return (shift - first_shift) * sub_bins + (mantissa - sub_bins);
    }

    /// The middle of a bin, in nanoseconds. Computed as a product, because `std::ldexp` would load
    /// the library of mathematics and cost its memory.
    [[nodiscard]] double value(int index) const noexcept
    {
        const int shift = index / sub_bins + first_shift;
        return (static_cast<double>(index % sub_bins + sub_bins) + 0.5) *
               static_cast<double>(std::uint64_t{1} << shift);
    }

    [[nodiscard]] int size() const noexcept { return index(highest) + 1; }

    /// Every value has a bin.
    [[nodiscard]] static constexpr bool inclusive() noexcept { return true; }

    [[nodiscard]] bool operator==(const latency_axis&) const noexcept = default;

private:
    static constexpr int sub_bits = 7;
    static constexpr int sub_bins = 1 << sub_bits;
    static constexpr int first_shift = 3;
    static constexpr std::uint64_t lowest = std::uint64_t{1} << (sub_bits + first_shift);
    static constexpr std::uint64_t highest = (std::uint64_t{1} << 36) - 1;
};

/// Latencies, each kept to within 0.4 % of itself, in memory of constant size. Not for several
/// threads: give each its own, then merge.
class histogram {
public:
    void add(std::chrono::nanoseconds latency)
    {
        counts_(static_cast<std::uint64_t>(
            std::max<std::chrono::nanoseconds::rep>(latency.count(), 0)));
        ++total_;
    }

    void merge(const histogram& other)
    {
        counts_ += other.counts_;
        total_ += other.total_;
    }

    void reset()
    {
        counts_.reset();
        total_ = 0;
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return total_; }

    /// The latency that the share `p` (0 to 1) of all samples does not exceed, in microseconds; 0
    /// without samples.
    [[nodiscard]] double percentile_us(double p) const
    {
        if (total_ == 0) {
            return 0;
        }
        const auto rank = static_cast<std::uint64_t>(std::ceil(p * static_cast<double>(total_)));
        const auto wanted = std::clamp<std::uint64_t>(rank, 1, total_);
        std::uint64_t seen = 0;
        int bin = 0;
        for (; bin < counts_.axis().size() - 1; ++bin) {
            seen += counts_.at(bin);
            if (seen >= wanted) {
                break;
            }
        }
        return counts_.axis().value(bin) / 1000.0;
    }

private:
    boost::histogram::histogram<std::tuple<latency_axis>,
                                boost::histogram::dense_storage<std::uint64_t>>
        counts_{std::make_tuple(latency_axis{})};
    std::uint64_t total_ = 0;
};

}  // namespace redlock::bench
