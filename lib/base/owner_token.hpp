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
 * Whoever reads one can release the lock, so it cannot be streamed and must not be put in any text.
 */
class owner_token {
public:
    static constexpr std::size_t raw_size = 20;
    static constexpr std::size_t size = 2 * raw_size;

    /// Holds no token: NUL bytes, which no parsed or made token has.
    owner_token() = default;

    [[nodiscard]] static owner_token from_bytes(
        std::span<const std::byte, raw_size> bytes) noexcept;

    /// Nothing when the source fails.
    [[nodiscard]] static std::optional<owner_token> make(entropy& source) noexcept;

    /// Nothing unless `text` is exactly 40 lower-case hexadecimal digits.
    [[nodiscard]] static std::optional<owner_token> parse(std::string_view text) noexcept;

    [[nodiscard]] std::string_view view() const noexcept { return {digits_.data(), size}; }

    friend bool operator==(const owner_token&, const owner_token&) = default;

private:
    std::array<char, size> digits_{};
};

}  // namespace redlock::base
