#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace redlock::bench {

/**
 * The result of one run of one program, in the same form for programs in every language: the member
 * names are the keys of the JSON form. A cycle is one acquire and its release.
 */
struct result {
    std::string name;  ///< of the program
    /// The parts of the measurement: "server", "compiler", "boost" ...
    std::map<std::string, std::string> versions;
    std::size_t nodes = 0;
    std::size_t workers = 0;    ///< cycles in flight at a time
    double seconds = 0;         ///< measured, without the warm-up
    std::size_t resources = 0;  ///< different names that were locked
    std::uint64_t ttl_ms = 0;
    std::uint64_t cycles = 0;  ///< completed in those seconds
    double cycles_per_second = 0;
    double acquire_p50_us = 0;
    double acquire_p99_us = 0;
    double acquire_p999_us = 0;
    double client_cpu_us_per_cycle = 0;
    /// The sum for all servers, or none if the program can't know it.
    std::optional<double> server_cpu_us_per_cycle;
    /// Heap blocks, or none if they can't be counted.
    std::optional<double> allocations_per_cycle;
    std::uint64_t failures = 0;  ///< acquires that gave no lock and releases that found none
    std::uint64_t peak_rss_kib = 0;
};

void to_json(nlohmann::json& to, const result& from);

/// Throws `nlohmann::json::exception` if a key is absent or of another type.
void from_json(const nlohmann::json& from, result& to);

/// As one JSON object.
void print_json(std::ostream& out, const result& r);

/// A line of titles, then one line for each result.
void print_table(std::ostream& out, std::span<const result> results);

}  // namespace redlock::bench
