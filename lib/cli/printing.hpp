#pragma once

#include "cli/exit_status.hpp"

#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/report.hpp>
#include <redlock/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The reason for a lost lock if every node answered in time.
inline constexpr const char* keys_are_gone = "no majority of the nodes has its key any more";

/// Follows the name of a resource whose key has no ttl. No client of Redlock writes such a key, but
/// another program may take the ttl away. With a label it was the key of a lock.
[[nodiscard]] constexpr const char* without_an_end(bool has_label)
{
    return has_label
               ? ", without an end: its key has no ttl, which something took away (redis-cli "
                 "PERSIST, for example); if the holder runs, its next renewal gives the key a ttl "
                 "again; if it is gone, delete the key on every node (redis-cli DEL)"
               : ", without an end: its key has no ttl, so no client of redlock wrote it; if the "
                 "key is data, choose another name or a --key-prefix; if it is the lock of another "
                 "program whose holder is gone, delete it on every node (redis-cli DEL)";
}

/// Formats resources as a list without characters that a terminal may act on.
[[nodiscard]] std::string names(const std::vector<std::string>& resources);

/// Whether the node couldn't be asked, or failed to do what it was asked.
[[nodiscard]] bool is_out_of_use(node_outcome o) noexcept;

[[nodiscard]] nlohmann::json to_json(const report& r);

/**
 * The cause of an operation without a majority. For a timeout, the nodes' answers in the last
 * attempt determine the cause.
 */
[[nodiscard]] error_code cause_of(error_code error, const report& r);

/// Advice for the user about a reason why a node isn't used. Empty if there is none.
[[nodiscard]] std::string remedy_for(std::string_view reason);

/// Why a majority didn't do what it was asked, from the answers of the nodes.
[[nodiscard]] std::string why_no_majority(const report& r);
/// Why an operation failed, for the user. Contains the nodes' own words if nodes refused.
[[nodiscard]] std::string message_of(error_code cause, const report& r);

// The following functions print on stderr. With `json`, each prints one JSON value on a line.
// Resources in a message must have the form that `names` returns.

// None of them waits for the reader of stderr. A message that stderr does not take is written with
// a later message or at the end.

/// Writes the messages that stderr has not taken, as far as it takes them now.
void write_waiting_messages();
/// The same, and waits a second at most. Call it at the end of the process.
void write_last_messages();

/// Prints an event.
void say(const std::string& message, bool json);
/// Prints an event, then the nodes' answers, one on each line.
void say(const std::string& message, const report& r, bool json);
/// Prints the result of an inspection.
void say(const std::string& resource, const inspection& found, const report& r, bool json);
/// Prints a line of the client's log.
void say(const std::string& line, const char* level, bool json);
/// Prints the final message. Returns the exit status.
int say(const std::string& message, exit_status status, bool json);
int say(const std::string& message, const report& r, exit_status status, bool json);

/// Prints that `what` failed, and why. Returns the exit status.
int fail(const std::string& what, error_code error, const report& r, bool json);

/// Prints why nothing was done, for a reason that doesn't involve the nodes' answers. Returns the
/// exit status.
int fail(const std::string& why, exit_status status, bool json);

/// The end of a lock's validity, as a date computed from the current date.
[[nodiscard]] std::chrono::system_clock::time_point end_of(const lock& l);

/// Formats a date: "2026-11-05T14:03:09.123Z", by RFC 3339, in UTC, truncated to milliseconds. All
/// printed dates have this form.
[[nodiscard]] std::string date_text(std::chrono::system_clock::time_point when);

/// The node's name in a column with the names of all nodes of the report.
[[nodiscard]] std::string in_column(const node_report& node, const report& r);

/// Formats a duration: "8.3 s".
[[nodiscard]] std::string seconds_text(std::chrono::nanoseconds length);

}  // namespace redlock::cli
