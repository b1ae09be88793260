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
        two_leases,     ///< the violation that all is about
        disorder,       ///< that of the fencing tokens
        not_repeatable  ///< run twice, it went another way
    } ended = kind::well;
    std::string what;
    std::uint64_t hash = 0;
    tally counts;
};

/// Plays one seed; `twice`: and once more, to see that it goes the same way.
[[nodiscard]] result play(const options& o, bool twice, std::ostream* trace = nullptr);

/// What a violation is about, whoever it was of.
[[nodiscard]] std::string gist_of(const std::string& what);

/// Leaves out what is not needed for a play to fail as it does: kinds of faults, and acquires.
[[nodiscard]] options shrink(options failing);

/// The arguments that repeat a play.
[[nodiscard]] std::string arguments_of(const options& o);

/// The same without the seed; each begins with a space.
[[nodiscard]] std::string further_arguments_of(const options& o);

[[nodiscard]] std::string_view name_of(beyond b) noexcept;
[[nodiscard]] std::optional<beyond> beyond_named(std::string_view name) noexcept;

}  // namespace redlock::sim
