#pragma once

#include "base/instant.hpp"
#include "core/contention/stint.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::core {

/**
 * Resources that the client has just had, or that a node refused not long ago, since others had
 * them there. A table that grows with the resources in use, to 1 MiB at most: what is not in it any
 * more is asked for as if nobody else wanted it.
 */
class sought_after {
public:
    /// For so long it is remembered.
    static constexpr base::nanos long_enough = std::chrono::seconds{1};
    /// Who let others in so often and met nobody does so for none but those whom it cannot meet.
    static constexpr unsigned most_lonely_rests = 8;

    [[nodiscard]] const stint* find(std::uint64_t resource, base::instant now) const noexcept;
    [[nodiscard]] stint* find(std::uint64_t resource, base::instant now) noexcept;

    /// The client has it again, and so may be refused again from `end` on only.
    void keep(std::uint64_t resource, base::instant now, base::instant end) noexcept;

    /// A node has refused it, and until `end` the client may have it itself. What was found before
    /// is not to be used any more.
    stint& note(std::uint64_t resource, base::instant now, base::instant end) noexcept;

    /// The client has had it from `since` on. Null: others have all places that it may have. What
    /// was found before is not to be used any more.
    stint* note_turn(std::uint64_t resource, base::instant now, base::instant since) noexcept;

private:
    /// A resource has so many places. With more of them the table is fuller before it has to grow.
    static constexpr std::size_t ways = 16;
    static constexpr std::size_t fewest = 256 / ways;
    static constexpr std::size_t most = 8192 / ways;

    /// The places of all resources whose hashes end alike; what is searched lies together.
    struct bucket {
        std::array<std::uint64_t, ways> resources{};
        std::array<base::instant, ways> until;
        std::array<stint, ways> of_client;

        bucket() noexcept { until.fill(base::instant::min()); }
    };
    struct place {
        bucket* of;
        std::size_t index;

        [[nodiscard]] base::instant& until() const noexcept { return of->until[index]; }
        [[nodiscard]] stint& of_client() const noexcept { return of->of_client[index]; }
    };

    /// Where it is looked for, one after the other; resources that share a bucket begin at
    /// different places.
    [[nodiscard]] static std::size_t nth_place(std::uint64_t resource, std::size_t n) noexcept
    {
        return (static_cast<std::size_t>(resource >> 48U) + n) % ways;
    }
    [[nodiscard]] bucket& bucket_of(std::uint64_t resource) noexcept
    {
        return table_[static_cast<std::size_t>(resource) & (table_.size() - 1)];
    }
    [[nodiscard]] std::optional<place> place_of(std::uint64_t resource, base::instant now) noexcept;
    [[nodiscard]] std::optional<place> free_place(std::uint64_t resource,
                                                  base::instant now) noexcept;
    stint& put(place there, std::uint64_t resource, base::instant until,
               base::instant begun) noexcept;
    bool grow(base::instant now) noexcept;

    std::vector<bucket> table_ = std::vector<bucket>(fewest);
};

}  // namespace redlock::core
