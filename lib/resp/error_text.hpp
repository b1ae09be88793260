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

/// Whether an ACL permits the command but not its key, in the words of Redis and Valkey.
[[nodiscard]] bool says_key_not_permitted(std::string_view error);

/// Whether the error is about the server's state or data rather than about the command: it is
/// temporary, or the server is unfit, or it lacks memory or disk space.
[[nodiscard]] bool is_about_state(std::string_view error);

/// Whether a command inside a script was refused rather than the script, in the words of Redis and
/// Valkey.
[[nodiscard]] bool comes_from_script(std::string_view error);

/// Whether a fencing counter has a value that no counter has, or another type.
[[nodiscard]] bool says_bad_counter(std::string_view error);

/// Whether another form of the same request may do better: the error is not about the server's
/// state, the key and its value, or a command inside a script.
[[nodiscard]] bool may_refuse_form(std::string_view error);

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
