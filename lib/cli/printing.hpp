#pragma once

#include "cli/exit_status.hpp"

#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/report.hpp>
#include <redlock/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace redlock::cli {

/// Why a lock is lost although each node that was asked answered in time.
inline constexpr const char* keys_are_gone = "no majority of the nodes has its key any more";

/// Follows the name of a resource whose key has no ttl. A client of Redlock never writes such a key.
inline constexpr const char* without_an_end =
    ", without an end: its key has no ttl, so another program wrote it; if the key is data, choose "
    "another name or a --key-prefix; if it is a lock whose holder is gone, delete it on every node "
    "(redis-cli DEL)";

/// As text: names one after the other, without anything that a terminal would act upon.
[[nodiscard]] std::string names(const std::vector<std::string>& resources);

/// Whether the node could not be asked, or did not do what it was asked.
[[nodiscard]] bool is_out_of_use(node_outcome o) noexcept;

[[nodiscard]] nlohmann::json to_json(const report& r);

/**
 * Why an operation had no majority: an error that says no more than that the time was up is told
 * apart by what the nodes said in the last attempt.
 */
[[nodiscard]] error_code cause_of(error_code error, const report& r);

/// Why a majority did not do what it was asked, from what each node answered.
[[nodiscard]] std::string why_no_majority(const report& r);
/// Why an operation failed, for the user: where nodes refused, in their words.
[[nodiscard]] std::string message_of(error_code cause, const report& r);

// Said on stderr, as one JSON value in a line where `json` is wanted. The message is as of `names`.

/// Whether a line of usual length can be written without a wait for whoever reads it.
[[nodiscard]] bool can_say_at_once() noexcept;

/// What happens on the way.
void say(const std::string& message, bool json);
/// And what the nodes said, one to a line.
void say(const std::string& message, const report& r, bool json);
/// What an inspection found.
void say(const std::string& resource, const inspection& found, const report& r, bool json);
/// A line of the client's log.
void say(const std::string& line, const char* level, bool json);
/// What it ends with; gives the exit status.
int say(const std::string& message, exit_status status, bool json);
int say(const std::string& message, const report& r, exit_status status, bool json);

/// Says on stderr that `what` failed, and why; gives the exit status.
int fail(const std::string& what, error_code error, const report& r, bool json);

/// Says on stderr why nothing was done, where no master's answer has to do with it; gives the exit
/// status.
int fail(const std::string& why, exit_status status, bool json);

/// The end of a lock's validity by the date, as that is now.
[[nodiscard]] std::chrono::system_clock::time_point end_of(const lock& l);

/// "2026-11-05T14:03:09.123Z": by RFC 3339, in UTC, cut to milliseconds. So are all dates that are
/// printed.
[[nodiscard]] std::string date_text(std::chrono::system_clock::time_point when);

/// "8.3 s".
[[nodiscard]] std::string seconds_text(std::chrono::nanoseconds length);

}  // namespace redlock::cli
