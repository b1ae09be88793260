#pragma once

#include <redlock/error.hpp>

namespace redlock::cli {

/// What the command ends with, beside the status of what it ran: as sysexits.h has it where that
/// has a word for it, and for a program that cannot be begun as a shell does.
enum exit_status : int {
    success = 0,
    usage = 64,        ///< a wrong argument, option or configuration
    unavailable = 69,  ///< no majority of the masters could be reached, or answered in time
    internal = 70,     ///< what should not happen; what was asked for could not be written
    contended = 75,    ///< somebody else has the lock
    lost = 76,         ///< the lock was lost while the command ran, or is not held any more
    not_executable = 126,
    not_found = 127,
    by_signal = 128,  ///< and the signal's number
};

/// What an operation that failed ends with.
[[nodiscard]] exit_status exit_status_of(error_code error) noexcept;

}  // namespace redlock::cli
