#pragma once

#include "base/instant.hpp"
#include "core/stint.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::core {

/**
 * Resources that the client has just had, or that a node refused not long ago, since others had
 * them there. A table of fixed size: what is not in it any more is asked for as if nobody else
 * wanted it.
 */
class sought_after {
public:
    /// For so long it is remembered.
    static constexpr base::nanos long_enough = std::chrono::seconds{1};
    /// Who let others in so often and met nobody does so for none but those whom it cannot meet.
    static constexpr unsigned most_lonely_rests = 8;

    [[nodiscard]] const stint* find(std::uint64_t resource, base::instant now) const noexcept
    {
        const seen& there = table_[resource % places];
        return there.resource == resource && now < there.until ? &there.of_client : nullptr;
    }
    [[nodiscard]] stint* find(std::uint64_t resource, base::instant now) noexcept
    {
        return const_cast<stint*>(std::as_const(*this).find(resource, now));
    }

    /// The client has it again, and so may be refused again from `end` on only.
    void keep(std::uint64_t resource, base::instant now, base::instant end) noexcept
    {
        stint* const known = find(resource, now);
        if (known == nullptr) {
            return;
        }
        base::instant& until = table_[resource % places].until;
        until = end + long_enough;
        if (now < known->contended_until) {
            known->contended_until = until;
        }
    }

    /// A node has refused it, and until `end` the client may have it itself.
    stint& note(std::uint64_t resource, base::instant now, base::instant end) noexcept
    {
        seen& there = table_[resource % places];
        if (find(resource, now) == nullptr) {
            there = {resource, {}, stint::begun(now)};
        }
        there.until = std::max({there.until, now + long_enough, end + long_enough});
        return there.of_client;
    }

    /// The client has had it from `since` on. Null: another one has the place.
    stint* note_turn(std::uint64_t resource, base::instant now, base::instant since) noexcept
    {
        seen& there = table_[resource % places];
        if (now < there.until) {
            return find(resource, now);
        }
        there = {resource, now + long_enough, stint::begun(since)};
        there.of_client.lonely_rests = most_lonely_rests;
        return &there.of_client;
    }

private:
    struct seen {
        std::uint64_t resource = 0;
        base::instant until{};
        stint of_client;
    };

    static constexpr std::size_t places = 256;

    std::array<seen, places> table_{};
};

}  // namespace redlock::core
