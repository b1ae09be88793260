#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace redlock::bench {

/**
 * Runs a program to its end and gives what it wrote to its standard output. It ends with this
 * process. Blocks.
 * Throws `std::exception` if it cannot be started or exits with another status than 0.
 */
[[nodiscard]] std::string output_of(const std::filesystem::path& program,
                                    const std::vector<std::string>& arguments);

}  // namespace redlock::bench
