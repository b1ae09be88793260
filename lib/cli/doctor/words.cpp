#include "cli/doctor/words.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace redlock::cli {

namespace {

/// Formats with two decimals below 1, with one below 10, and with none above.
std::string number_text(double value)
{
    std::array<char, 48> text{};
    const int decimals = std::abs(value) < 1 ? 2 : std::abs(value) < 9.95 ? 1 : 0;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

struct unit {
    double size;
    const char* name;
};

}  // namespace

std::string span_text(std::chrono::nanoseconds span)
{
    constexpr unit units[] = {
        {86400e9, " days"}, {3600e9, " hours"}, {60e9, " minutes"}, {1e9, " s"}};
    const auto ns = static_cast<double>(span.count());
    for (const unit& u : units) {
        // Days, hours and minutes begin at two, so the text needs no singular.
        const double least = u.size > 1e9 ? 2 * u.size : u.size;
        if (std::abs(ns) >= least) {
            return number_text(ns / u.size) + u.name;
        }
    }
    return number_text(ns / 1e6) + " ms";
}

std::string share_text(double share)
{
    return std::abs(share) >= 1e-3 ? number_text(share * 100) + " %"
                                   : number_text(share * 1e6) + " ppm";
}

std::string bytes_text(std::uint64_t bytes)
{
    constexpr const char* names[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t i = 0;
    for (; value >= 1024 && i + 1 < std::size(names); ++i) {
        value /= 1024;
    }
    return (i == 0 ? std::to_string(bytes) : number_text(value)) + names[i];
}

std::string count_text(std::uint64_t count, const char* noun)
{
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::string>& all)
{
    std::string out;
    for (std::size_t i = 0; i < all.size(); ++i) {
        out += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
    }
    return out;
}

std::string guard_text(std::uint64_t nodes, std::chrono::nanoseconds max_ttl,
                       std::int64_t drift_ppb)
{
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(max_ttl).count();
    std::array<char, 32> drift{};
    std::snprintf(drift.data(), drift.size(), "%.9g", static_cast<double>(drift_ppb) / 1e9);
    return count_text(nodes, "node") + ", --max-ttl " +
           (ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms") +
           " and --drift " + drift.data();
}

}  // namespace redlock::cli
