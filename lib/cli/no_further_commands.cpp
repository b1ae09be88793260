#include "cli/commands.hpp"

namespace redlock::cli {

std::vector<further_command> further_commands()
{
    return {};
}

}  // namespace redlock::cli
