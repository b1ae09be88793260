// The redlock command: quorum locks for shell scripts.

#include "cli/command_line.hpp"
#include "cli/printing.hpp"

#include <csignal>

int main(int argc, char** argv)
{
    // A reader that closes the output must not end the work. Commands that redlock starts get the
    // default again.
    std::signal(SIGPIPE, SIG_IGN);
    const int status = redlock::cli::command_line()({argv + 1, argv + argc});
    redlock::cli::write_last_messages();
    return status;
}
