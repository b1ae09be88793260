#pragma once

#include "base/instant.hpp"
#include "core/stint.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
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
    struct seen {
        std::uint64_t resource = 0;
        base::instant until = base::instant::min();
        stint of_client;
    };

    /// A resource has so many places, next to each other.
    static constexpr std::size_t ways = 4;
    static constexpr std::size_t fewest = 256;
    static constexpr std::size_t most = 8192;

    template <class Table>
    [[nodiscard]] static auto places_in(Table& table, std::uint64_t resource) noexcept;
    [[nodiscard]] seen* place_of(std::uint64_t resource, base::instant now) noexcept;
    [[nodiscard]] seen* free_place(std::uint64_t resource, base::instant now) noexcept;
    bool grow(base::instant now) noexcept;

    std::vector<seen> table_ = std::vector<seen>(fewest);
};

}  // namespace redlock::core
