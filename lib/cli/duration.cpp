#include "cli/duration.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>
#include <utility>

namespace redlock::cli {
namespace {

constexpr std::pair<std::string_view, double> units[] = {
    {"ms", 1.0}, {"s", 1000.0}, {"m", 60'000.0}, {"h", 3'600'000.0}, {"d", 86'400'000.0},
};
constexpr double longest = 10 * 365.0 * 86'400'000.0;

/// Parses a duration into `out`. Returns why the text isn't a duration, or an empty text.
std::string read_length(std::string_view text, std::chrono::milliseconds& out)
{
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    const auto* const found = std::find_if(std::begin(units), std::end(units),
                                           [&](const auto& u) { return u.first == unit; });
    if (failed != std::errc() || !std::isfinite(number) ||
        (!unit.empty() && found == std::end(units))) {
        return "is not a duration: write it as 500ms, 30s, 5m or 2h";
    }
    if (unit.empty() && number != 0) {
        return "has no unit: write it as 500ms, 30s, 5m or 2h";
    }
    if (std::signbit(number)) {
        return "is negative";
    }
    const double milliseconds = unit.empty() ? 0 : number * found->second;
    const double whole = std::round(milliseconds);
    if (milliseconds > longest) {
        return "is too long: ten years at most";
    }
    if (std::abs(milliseconds - whole) > 1e-6) {
        return "is too fine: give whole milliseconds";
    }
    out = std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(whole));
    return {};
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text)
{
    std::chrono::milliseconds length{};
    return read_length(text, length).empty() ? std::optional(length) : std::nullopt;
}

std::string why_no_duration(std::string_view text)
{
    std::chrono::milliseconds length{};
    const std::string why = read_length(text, length);
    return why.empty() ? why : '\'' + std::string(text) + "' " + why;
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
        out = {*length, true};
    }
    return length.has_value();
}

}  // namespace redlock::cli
