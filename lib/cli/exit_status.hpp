#pragma once

#include <redlock/error.hpp>

namespace redlock::cli {

/// The exit status of the command, unless it is the status of the command that it ran. The numbers
/// are those in sysexits.h if it has a suitable one. If a program can't be started, the number is
/// the shell's.
enum exit_status : int {
    success = 0,
    usage = 64,        ///< a wrong argument, option or configuration
    unavailable = 69,  ///< no majority of the nodes could be reached or answered in time
    internal = 70,     ///< an error that should not happen, or the output could not be written
    contended = 75,    ///< another client has the lock
    lost = 76,         ///< the lock was lost while the command ran, or is no longer held
    not_executable = 126,
    not_found = 127,
    by_signal = 128,  ///< plus the signal's number
};

/// The exit status for a failed operation.
[[nodiscard]] exit_status exit_status_of(error_code error) noexcept;

}  // namespace redlock::cli
