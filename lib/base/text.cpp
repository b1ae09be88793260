#include "base/text.hpp"

#include <cstddef>
#include <cstdint>

namespace redlock::base {
namespace {

/// One character of a text. A size of zero means that the bytes are not valid UTF-8.
struct character {
    std::uint32_t code = 0;
    std::size_t size = 0;
};

constexpr std::uint32_t byte_at(std::string_view text, std::size_t i) noexcept
{
    return static_cast<unsigned char>(text[i]);
}

character decode(std::string_view text) noexcept
{
    const std::uint32_t lead = byte_at(text, 0);
    if (lead < 0x80) {
        return {lead, 1};
    }
    // The first byte determines the length. Each length has a smallest code for which it is valid.
    constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const std::size_t size = lead >= 0xf8   ? 0
                             : lead >= 0xf0 ? 4
                             : lead >= 0xe0 ? 3
                             : lead >= 0xc0 ? 2
                                            : 0;
    if (size == 0 || text.size() < size) {
        return {};
    }
    std::uint32_t code = lead & (0xffU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) {
        const std::uint32_t next = byte_at(text, i);
        if ((next & 0xc0U) != 0x80) {
            return {};
        }
        code = (code << 6) | (next & 0x3fU);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < smallest[size] || code > 0x10ffff || surrogate) {
        return {};
    }
    return {code, size};
}

/// Whether a terminal may act on the character or change the order of others because of it.
constexpr bool is_active(std::uint32_t code) noexcept
{
    const bool control = code < 0x20 || (code >= 0x7f && code <= 0x9f);
    const bool line_or_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                                   (code >= 0x2028 && code <= 0x202e) ||
                                   (code >= 0x2066 && code <= 0x2069);
    return control || line_or_direction;
}

void append_escaped(std::string& out, char c)
{
    switch (c) {
        case '\\': out += "\\\\"; return;
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        default: break;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += digits[byte / 16U];
    out += digits[byte % 16U];
}

}  // namespace

std::string printable(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const character next = decode(text);
        const std::size_t size = next.size == 0 ? 1 : next.size;
        if (next.size == 0 || next.code == '\\' || is_active(next.code)) {
            for (const char c : text.substr(0, size)) {
                append_escaped(out, c);
            }
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(size);
    }
    return out;
}

std::string duration_text(std::chrono::milliseconds length)
{
    using namespace std::chrono_literals;
    const bool is_whole = length % 1s == 0ms;
    return is_whole ? std::to_string(length / 1s) + " s" : std::to_string(length / 1ms) + " ms";
}

}  // namespace redlock::base
