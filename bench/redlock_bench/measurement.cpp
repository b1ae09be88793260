#include "redlock_bench/measurement.hpp"

#include <nlohmann/json.hpp>

#include <iomanip>
#include <ostream>
#include <vector>

namespace redlock::bench {
namespace {

void print_details(std::ostream& out, const measurement& m)
{
    out << m.common.name << ": release p50 " << m.more.releases.percentile_us(0.5) << " us, p99 "
        << m.more.releases.percentile_us(0.99) << " us, p99.9 "
        << m.more.releases.percentile_us(0.999) << " us";
    for (const auto& [name, count] : failures_by_name(m.more)) {
        out << "; " << name << ' ' << count;
    }
    if (m.more.violations != 0) {
        out << "; EXCLUSION VIOLATED " << m.more.violations << " times";
    }
    out << '\n';
}

}  // namespace

void to_json(nlohmann::json& to, const measurement& from)
{
    to = from.common;
    to["release_p50_us"] = from.more.releases.percentile_us(0.5);
    to["release_p99_us"] = from.more.releases.percentile_us(0.99);
    to["release_p999_us"] = from.more.releases.percentile_us(0.999);
    to["failures_by_name"] = failures_by_name(from.more);
    to["violations"] = from.more.violations;
}

void print(std::ostream& out, std::span<const measurement> all)
{
    std::vector<result> table;
    for (const auto& m : all) {
        table.push_back(m.common);
    }
    print_table(out, table);
    out << std::fixed << std::setprecision(0);
    for (const auto& m : all) {
        print_details(out, m);
    }
}

}  // namespace redlock::bench
