// Quorum locks for a shell.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv)
{
    return redlock::cli::command_line(redlock::cli::further_commands())({argv + 1, argv + argc});
}
