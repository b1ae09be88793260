// The redlock command: quorum locks for shell scripts.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"

#include <csignal>
#include <iostream>

int main(int argc, char** argv)
{
    // A reader that closes the output must not end the work. Commands that redlock starts get the
    // default again.
    std::signal(SIGPIPE, SIG_IGN);
    const int status =
        redlock::cli::command_line(redlock::cli::further_commands())({argv + 1, argv + argc});
    // The command failed if its output could not be written.
    const bool written = static_cast<bool>(std::cout.flush());
    return written || status != redlock::cli::success ? status : redlock::cli::internal;
}
