#include "load/result.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>

namespace redlock::bench {
namespace {

template <class Result, class Visit>
void for_each_field(Result& r, Visit visit)
{
    visit("name", r.name);
    visit("versions", r.versions);
    visit("nodes", r.nodes);
    visit("workers", r.workers);
    visit("seconds", r.seconds);
    visit("resources", r.resources);
    visit("ttl_ms", r.ttl_ms);
    visit("cycles", r.cycles);
    visit("cycles_per_second", r.cycles_per_second);
    visit("acquire_p50_us", r.acquire_p50_us);
    visit("acquire_p99_us", r.acquire_p99_us);
    visit("acquire_p999_us", r.acquire_p999_us);
    visit("client_cpu_us_per_cycle", r.client_cpu_us_per_cycle);
    visit("server_cpu_us_per_cycle", r.server_cpu_us_per_cycle);
    visit("allocations_per_cycle", r.allocations_per_cycle);
    visit("failures", r.failures);
    visit("peak_rss_kib", r.peak_rss_kib);
}

struct writer {
    nlohmann::json& to;

    template <class T>
    void operator()(const char* key, const T& value) const
    {
        to[key] = value;
    }

    template <class T>
    void operator()(const char* key, const std::optional<T>& value) const
    {
        to[key] = value ? nlohmann::json(*value) : nlohmann::json(nullptr);
    }
};

struct reader {
    const nlohmann::json& from;

    template <class T>
    void operator()(const char* key, T& value) const
    {
        from.at(key).get_to(value);
    }

    template <class T>
    void operator()(const char* key, std::optional<T>& value) const
    {
        const auto& found = from.at(key);
        value = found.is_null() ? std::optional<T>{} : found.template get<T>();
    }
};

std::string fixed(std::optional<double> value, int digits)
{
    if (!value) {
        return "-";
    }
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << *value;
    return text.str();
}

/// A column of the table: its title and its text.
struct column {
    std::string_view title;
    std::string (*cell)(const result&);
};

constexpr column columns[] = {
    {"program", [](const result& r) { return r.name; }},
    {"nodes", [](const result& r) { return std::to_string(r.nodes); }},
    {"workers", [](const result& r) { return std::to_string(r.workers); }},
    {"cycles/s", [](const result& r) { return fixed(r.cycles_per_second, 0); }},
    {"p50 us", [](const result& r) { return fixed(r.acquire_p50_us, 0); }},
    {"p99 us", [](const result& r) { return fixed(r.acquire_p99_us, 0); }},
    {"p99.9 us", [](const result& r) { return fixed(r.acquire_p999_us, 0); }},
    {"client us/cycle", [](const result& r) { return fixed(r.client_cpu_us_per_cycle, 2); }},
    {"servers us/cycle", [](const result& r) { return fixed(r.server_cpu_us_per_cycle, 2); }},
    {"new/cycle", [](const result& r) { return fixed(r.allocations_per_cycle, 2); }},
    {"failures", [](const result& r) { return std::to_string(r.failures); }},
    {"peak MiB",
     [](const result& r) { return fixed(static_cast<double>(r.peak_rss_kib) / 1024, 1); }},
};

std::size_t width(const column& c, std::span<const result> results)
{
    std::size_t widest = c.title.size();
    for (const auto& r : results) {
        widest = std::max(widest, c.cell(r).size());
    }
    return widest;
}

}  // namespace

void to_json(nlohmann::json& to, const result& from)
{
    to = nlohmann::json::object();
    for_each_field(from, writer{to});
}

void from_json(const nlohmann::json& from, result& to)
{
    for_each_field(to, reader{from});
}

void print_json(std::ostream& out, const result& r)
{
    out << nlohmann::json(r).dump(2) << '\n';
}

void print_table(std::ostream& out, std::span<const result> results)
{
    const auto print_line = [&](auto cell) {
        const char* gap = "";
        for (const auto& c : columns) {
            // Names are aligned left, numbers right.
            out << gap << (&c == columns ? std::left : std::right)
                << std::setw(static_cast<int>(width(c, results))) << cell(c);
            gap = "  ";
        }
        out << '\n';
    };
    print_line([](const column& c) { return std::string(c.title); });
    for (const auto& r : results) {
        print_line([&](const column& c) { return c.cell(r); });
    }
}

}  // namespace redlock::bench
