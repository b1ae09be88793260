#include "testing/model_master.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace redlock::testing {
namespace {

/// The limit that servers set for the number of words in a command and the number of bytes in a
/// word.
constexpr std::size_t longest = 512 * 1024 * 1024;

/// Removes one header, for example "*3\r\n", from the front. Returns nothing if it is incomplete.
std::optional<std::size_t> take_count(std::string_view& bytes, char mark)
{
    if (bytes.empty()) {
        return std::nullopt;
    }
    if (bytes.front() != mark) {
        throw std::runtime_error("the input is not a command");
    }
    const std::size_t end = bytes.find("\r\n");
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    std::size_t count = 0;
    const auto parsed = std::from_chars(bytes.data() + 1, bytes.data() + end, count);
    if (parsed.ec != std::errc{} || parsed.ptr != bytes.data() + end || count > longest) {
        throw std::runtime_error("the input has no length");
    }
    bytes.remove_prefix(end + 2);
    return count;
}

std::optional<std::string> take_word(std::string_view& bytes)
{
    const auto size = take_count(bytes, '$');
    if (!size || bytes.size() < *size + 2) {
        return std::nullopt;
    }
    if (bytes.substr(*size, 2) != "\r\n") {
        throw std::runtime_error("a word of the input has no end");
    }
    std::string word(bytes.substr(0, *size));
    bytes.remove_prefix(*size + 2);
    return word;
}

}  // namespace

std::optional<words> take_command(std::string_view& bytes)
{
    std::string_view rest = bytes;
    const auto count = take_count(rest, '*');
    if (!count) {
        return std::nullopt;
    }
    words w;
    // Each word needs a header, so the bytes limit the number of words. A false count can't reserve
    // more memory.
    w.reserve(std::min(*count, rest.size() / 4));
    while (w.size() < *count) {
        auto word = take_word(rest);
        if (!word) {
            return std::nullopt;
        }
        w.push_back(std::move(*word));
    }
    bytes = rest;
    return w;
}

std::vector<words> parse_commands(std::string_view bytes)
{
    std::vector<words> commands;
    while (auto w = take_command(bytes)) {
        commands.push_back(std::move(*w));
    }
    if (!bytes.empty()) {
        throw std::runtime_error("the input ends within a command");
    }
    return commands;
}

}  // namespace redlock::testing
