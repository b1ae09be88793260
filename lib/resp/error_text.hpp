#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::resp {

/// The longest text that `clean_error` gives, in bytes.
inline constexpr std::size_t max_error_text = 256;

/// The first word of a server's error, if it has three capital letters or more and no other
/// character ("NOSCRIPT", "ERR"); else nothing.
[[nodiscard]] std::string_view error_code_word(std::string_view text);

/// Whether the error has this code: as its first word, as its second one after "ERR", or inside a
/// script's error, as servers before Redis 7 write it ("ERR Error running script ...: -READONLY You
/// can't write ..."). The same word within a sentence is not a code.
[[nodiscard]] bool has_code(std::string_view error, std::string_view code);

/// The key is of another type.
[[nodiscard]] bool says_wrong_type(std::string_view error);

/// The command is unknown, or an ACL forbids it, in the words of Redis and Valkey. Other servers
/// have other words: whoever can do without a command does not ask this.
[[nodiscard]] bool says_not_permitted(std::string_view error);

/// The server does not do this now, and will later without anybody's help.
[[nodiscard]] bool is_temporary(std::string_view error);

/// Why the server, as it is now, is the wrong one to ask for a lock: it has become a replica, moved
/// its keys, loads its data, or has forgotten who we are. Ends with the code; empty: the error does
/// not say so.
[[nodiscard]] std::string_view unfit_because(std::string_view error);

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
