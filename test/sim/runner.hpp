#pragma once

#include "sim/plan.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace redlock::sim {

/// How a play ended.
struct result {
    enum class kind : std::uint8_t {
        well,
        violated,
        condemned,      ///< a violation that nothing excuses
        two_leases,     ///< two leases of a resource overlap
        disorder,       ///< fencing tokens are out of order
        not_repeatable  ///< the second run differs from the first
    } ended = kind::well;
    std::string what;
    std::uint64_t hash = 0;
    tally counts;
};

/// Plays one seed. `twice`: plays it again and compares the two runs.
[[nodiscard]] result play(const options& o, bool twice, std::ostream* trace = nullptr);

/// The kind of a violation, without names of clients.
[[nodiscard]] std::string gist_of(const std::string& what);

/// Removes the kinds of faults and the acquires that a play can fail without.
[[nodiscard]] options shrink(options failing);

/// The arguments that repeat a play.
[[nodiscard]] std::string arguments_of(const options& o);

/// The same without the seed. Each argument begins with a space.
[[nodiscard]] std::string further_arguments_of(const options& o);

[[nodiscard]] std::string_view name_of(beyond b) noexcept;
[[nodiscard]] std::optional<beyond> beyond_named(std::string_view name) noexcept;

}  // namespace redlock::sim
