#pragma once

#include "base/entropy.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace redlock::base {

/**
 * The value of a lock's key: 20 random bytes as 40 lower-case hexadecimal digits.
 *
 * Anyone who can read a token can release the lock. Therefore a token has no stream operator and
 * must not appear in any text.
 */
class owner_token {
public:
    static constexpr std::size_t raw_size = 20;
    static constexpr std::size_t size = 2 * raw_size;

    /// Creates an empty token: NUL bytes, which no parsed or made token contains.
    owner_token() = default;

    [[nodiscard]] static owner_token from_bytes(
        std::span<const std::byte, raw_size> bytes) noexcept;

    /// Makes a random token. Empty if the source fails.
    [[nodiscard]] static std::optional<owner_token> make(entropy& source) noexcept;

    /// Parses a token. Empty unless `text` is exactly 40 lower-case hexadecimal digits.
    [[nodiscard]] static std::optional<owner_token> parse(std::string_view text) noexcept;

    [[nodiscard]] std::string_view view() const noexcept { return {digits_.data(), size}; }

    friend bool operator==(const owner_token&, const owner_token&) = default;

private:
    std::array<char, size> digits_{};
};

}  // namespace redlock::base
