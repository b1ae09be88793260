#include "cli/duration.hpp"

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace redlock::cli {
namespace {

constexpr std::pair<std::string_view, double> units[] = {
    {"ms", 1.0}, {"s", 1000.0}, {"m", 60'000.0}, {"h", 3'600'000.0}, {"d", 86'400'000.0},
};
constexpr double longest = 10 * 365.0 * 86'400'000.0;

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text)
{
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (failed != std::errc() || !(number >= 0)) {
        return std::nullopt;
    }
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    double factor = unit.empty() ? 1000.0 : 0.0;
    for (const auto& [name, length] : units) {
        factor = unit == name ? length : factor;
    }
    const double milliseconds = number * factor;
    const double whole = std::round(milliseconds);
    if (factor == 0.0 || milliseconds > longest || std::abs(milliseconds - whole) > 1e-6) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(whole));
}

std::string to_text(std::chrono::milliseconds length)
{
    using namespace std::chrono_literals;
    const auto count = length.count();
    if (length % 1s != 0ms) {
        return std::to_string(count) + "ms";
    }
    if (length % 1h == 0ms && count != 0) {
        return std::to_string(length / 1h) + "h";
    }
    if (length % 1min == 0ms && count != 0) {
        return std::to_string(length / 1min) + "m";
    }
    return std::to_string(length / 1s) + "s";
}

bool lexical_cast(const std::string& text, duration& out)
{
    const auto length = parse_duration(text);
    if (length) {
        out.length = *length;
    }
    return length.has_value();
}

}  // namespace redlock::cli
