// Quorum locks for a shell.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"

#include <csignal>
#include <iostream>

int main(int argc, char** argv)
{
    // Who does not read what is said must not end what goes on; commands are begun without this.
    std::signal(SIGPIPE, SIG_IGN);
    const int status =
        redlock::cli::command_line(redlock::cli::further_commands())({argv + 1, argv + argc});
    // What was asked for and could not be written was not had.
    const bool written = static_cast<bool>(std::cout.flush());
    return written || status != redlock::cli::success ? status : redlock::cli::internal;
}
