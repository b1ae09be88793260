#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::resp {

/// The longest text that `clean_error` gives, in bytes.
inline constexpr std::size_t max_error_text = 256;

/// The word that a server's error starts with, if it is one of capital letters ("NOSCRIPT", "ERR");
/// else nothing.
[[nodiscard]] std::string_view error_code_word(std::string_view text);

/// The key is of another type. Before Redis 7 a script wraps the error's text.
[[nodiscard]] bool says_wrong_type(std::string_view text);

/// The command is unknown, or an ACL forbids it.
[[nodiscard]] bool says_not_permitted(std::string_view text);

/// A shorter password is found in any text: leaving it out there would tell it.
inline constexpr std::size_t shortest_password_left_out = 6;

/**
 * What may be shown of a server's error: without the arguments that servers repeat in it, without
 * anything that looks like an owner token, without `password`, in valid UTF-8 without control
 * characters, and cut to `max_error_text`.
 *
 * Not for the answer to a command that carries a password: no cutting is sure enough there.
 */
[[nodiscard]] std::string clean_error(std::string_view text, std::string_view password);

}  // namespace redlock::resp
