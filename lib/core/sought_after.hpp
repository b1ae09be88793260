#pragma once

#include "base/instant.hpp"
#include "core/stint.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::core {

/**
 * Resources that the masters refused not long ago, since others had them. A table of fixed size:
 * what is not in it any more is asked for as if nobody else wanted it.
 */
class sought_after {
public:
    [[nodiscard]] const stint* find(std::uint64_t resource, base::instant now) const noexcept
    {
        const seen& there = table_[resource % places];
        return there.resource == resource && now < there.until ? &there.of_client : nullptr;
    }
    [[nodiscard]] stint* find(std::uint64_t resource, base::instant now) noexcept
    {
        return const_cast<stint*>(std::as_const(*this).find(resource, now));
    }

    void note_refusal(std::uint64_t resource, base::instant now) noexcept
    {
        seen& there = table_[resource % places];
        if (there.resource != resource || there.until <= now) {
            there = {resource, {}, {.rested_long = now}};
        }
        there.until = now + long_enough;
        there.of_client.met_others = true;
    }

private:
    struct seen {
        std::uint64_t resource = 0;
        base::instant until{};
        stint of_client;
    };

    static constexpr std::size_t places = 256;
    static constexpr base::nanos long_enough = std::chrono::seconds{1};

    std::array<seen, places> table_{};
};

}  // namespace redlock::core
