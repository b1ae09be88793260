#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A second, slow and simple implementation of the wire protocol, for checks of the library's own.
namespace redlock::test {

struct reply {
    enum class kind { status, error, integer, bulk, null, boolean, number, array, map, set, push };

    kind type = kind::null;
    /// The text of a status, an error, a bulk string or a number.
    std::string text;
    /// The value of an integer or a boolean.
    std::int64_t integer = 0;
    /// The items of an aggregate; a map's keys and values alternate.
    std::vector<reply> items;

    [[nodiscard]] bool is_error() const noexcept { return type == kind::error; }

    /// `OK`, `-ERR text`, `42`, the bytes of a bulk string, `(nil)`, `true`, `[a, b]`.
    [[nodiscard]] std::string str() const;
};

struct parsed_reply {
    reply value;
    std::size_t size = 0;
};

/// Parses the reply at the start of `bytes`. Returns nothing if the reply is not complete yet.
/// Throws when it is not RESP.
[[nodiscard]] std::optional<parsed_reply> parse_reply(std::string_view bytes);

/// The replies and commands as bytes.
namespace wire {
[[nodiscard]] std::string command(const std::vector<std::string>& arguments);
[[nodiscard]] std::string status(std::string_view text);
[[nodiscard]] std::string error(std::string_view text);
[[nodiscard]] std::string integer(std::int64_t value);
[[nodiscard]] std::string bulk(std::string_view text);
/// The nulls of RESP2 and RESP3.
[[nodiscard]] std::string null();
[[nodiscard]] std::string null3();
/// `type` is the first byte, `*`, `~`, `>`; the items are encoded already. A map (`%`) counts
/// pairs.
[[nodiscard]] std::string aggregate(char type, const std::vector<std::string>& items);
}  // namespace wire

}  // namespace redlock::test
