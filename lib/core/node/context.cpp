#include "core/node/context.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace redlock::core {

using base::nanos;

void node_context::log(log_level level, std::initializer_list<std::string_view> line) const noexcept
{
    if (!settings.log) {
        return;
    }
    try {
        std::string whole;
        for (const std::string_view part : line) {
            whole += part;
        }
        settings.log(level, whole);
    } catch (...) {
        // A log that throws must not break a lock: `log.hpp` says so.
    }
}

nanos node_context::random_below(nanos bound) noexcept
{
    std::array<std::byte, 8> bytes{};
    if (bound <= nanos{} || !random.fill(bytes)) {
        return bound / 2;
    }
    const auto n = std::bit_cast<std::uint64_t>(bytes);
    return nanos{static_cast<std::int64_t>(n % static_cast<std::uint64_t>(bound.count()))};
}

}  // namespace redlock::core
