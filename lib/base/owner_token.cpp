#include "base/owner_token.hpp"

#include <algorithm>

namespace redlock::base {
namespace {

struct digit_pair {
    char high;
    char low;
};

constexpr std::array<digit_pair, 256> hex_pairs = [] {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<digit_pair, 256> pairs{};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = {digits[i / 16], digits[i % 16]};
    }
    return pairs;
}();

constexpr bool is_lower_hex(char c) noexcept
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

}  // namespace

owner_token owner_token::from_bytes(std::span<const std::byte, raw_size> bytes) noexcept
{
    owner_token token;
    for (std::size_t i = 0; i < raw_size; ++i) {
        const digit_pair pair = hex_pairs[std::to_integer<std::size_t>(bytes[i])];
        token.digits_[2 * i] = pair.high;
        token.digits_[2 * i + 1] = pair.low;
    }
    return token;
}

std::optional<owner_token> owner_token::make(entropy& source) noexcept
{
    std::array<std::byte, raw_size> bytes;
    if (!source.fill(bytes)) {
        return std::nullopt;
    }
    return from_bytes(bytes);
}

std::optional<owner_token> owner_token::parse(std::string_view text) noexcept
{
    if (text.size() != size || !std::all_of(text.begin(), text.end(), is_lower_hex)) {
        return std::nullopt;
    }
    owner_token token;
    std::copy(text.begin(), text.end(), token.digits_.begin());
    return token;
}

}  // namespace redlock::base
