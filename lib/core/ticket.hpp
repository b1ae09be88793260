#pragma once

#include "base/entropy.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace redlock::core {

/// A waiter's ticket in the queue for a resource, by its random name.
class ticket {
public:
    static constexpr std::size_t size = 16;

    constexpr ticket() noexcept = default;

    /// A new ticket; empty: there is no entropy.
    [[nodiscard]] static std::optional<ticket> make(base::entropy& random) noexcept
    {
        std::array<std::byte, size / 2> bytes{};
        if (!random.fill(bytes)) {
            return std::nullopt;
        }
        ticket made;
        for (std::size_t i = 0; i < size; ++i) {
            const auto of_two = std::to_integer<unsigned>(bytes[i / 2]);
            made.name_[i] = digits[i % 2 == 0 ? of_two >> 4U : of_two & 15U];
        }
        return made;
    }
    /// Empty: the name is no ticket's.
    [[nodiscard]] static std::optional<ticket> parse(std::string_view name) noexcept
    {
        if (name.size() != size || name.find_first_not_of(digits) != std::string_view::npos) {
            return std::nullopt;
        }
        ticket read;
        std::copy(name.begin(), name.end(), read.name_.begin());
        return read;
    }

    [[nodiscard]] std::string_view name() const noexcept { return {name_.data(), size}; }

    friend bool operator==(const ticket&, const ticket&) noexcept = default;

private:
    static constexpr std::string_view digits = "0123456789abcdef";

    std::array<char, size> name_{};
};

/// The reply of PTTL if there is no key.
inline constexpr std::int64_t no_key = -2;

/// The question for a place in a queue.
struct place_request {
    std::string_view resource;
    ticket own;
    /// The number that the ticket had before; 0: it goes to the end.
    std::int64_t number = 0;
    std::chrono::milliseconds ttl{};
    /// The number of tickets before its own, if the lock is free and none of their clients takes
    /// it; otherwise 0.
    std::size_t still_before = 0;
};

/// The place of a ticket, as a node returned it.
struct queue_place {
    /// The number of tickets before it.
    std::size_t before = 0;
    /// The last of them; empty: there is none, or it is not known yet.
    std::optional<ticket> predecessor;
    /// The remaining ttl of the lock's key, as PTTL returns it.
    std::int64_t lock_ttl = 0;
    /// The order of the tickets.
    std::int64_t number = 0;
    /// How many tickets of waiters that are gone the node has removed.
    std::size_t removed = 0;
};

/// A node's answer to the question for a place.
enum class place_answer : std::uint8_t {
    placed,
    again,    ///< It did not run the script in that form, and will run it in another one.
    refused,  ///< It has no queue for this client and resource.
};

}  // namespace redlock::core
