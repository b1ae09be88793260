#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::resp {

/// The longest text that `clean_error` returns, in bytes.
inline constexpr std::size_t max_error_text = 256;

/// The first word of a server's error, for example "NOSCRIPT" or "ERR". Empty unless the word has
/// at least three letters, all of them capitals.
[[nodiscard]] std::string_view error_code_word(std::string_view text);

/// Whether the error has this code. The code is one of:
///
/// - the first word;
/// - the second word, after "ERR";
/// - a code inside a script's error, in the form of servers before Redis 7 ("ERR Error running
///   script ...: -READONLY You can't write ...").
///
/// The same word inside a sentence is no code.
[[nodiscard]] bool has_code(std::string_view error, std::string_view code);

/// Whether the key has another type.
[[nodiscard]] bool says_wrong_type(std::string_view error);

/// Whether the command is unknown or an ACL forbids it, in the words of Redis and Valkey. Other
/// servers use other words. So use this only for commands that the client needs.
[[nodiscard]] bool says_not_permitted(std::string_view error);

/// Whether the server will do this later without help.
[[nodiscard]] bool is_temporary(std::string_view error);

/// The reason of a temporary refusal, in words that go on from the server's name and end with the
/// code. Empty if the error is not temporary.
[[nodiscard]] std::string_view temporary_because(std::string_view error);

/// Why the server is currently unsuitable for locks: it became a replica, moved its keys, loads its
/// data, or lost the client's login. The text ends with the code. Empty if the error has no such
/// reason.
[[nodiscard]] std::string_view unfit_because(std::string_view error);

/// The shortest password that `clean_error` removes, in bytes. A shorter one occurs in texts by
/// chance, so a gap would reveal it.
inline constexpr std::size_t shortest_password_left_out = 6;

/**
 * The part of a server's error that may be shown: without repeated arguments, without possible
 * owner tokens, without `password`. The result is valid UTF-8 without control characters, at most
 * `max_error_text` long. A longer text is cut, and ends with "...".
 *
 * Don't use it for the reply to a command with a password, because no removal is reliable enough
 * there.
 */
[[nodiscard]] std::string clean_error(std::string_view text, std::string_view password);

}  // namespace redlock::resp
