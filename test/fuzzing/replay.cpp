#include "input.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

// Stands in for libFuzzer where that is not built: runs a target over files, so that what was once
// found is tried with every compiler.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& file)
{
    // Told beforehand and at once: a failure ends the program.
    std::cout << file.string() << std::endl;
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    // In a block of its own, so that reading past its end is seen.
    const std::vector<std::uint8_t> block(bytes.begin(), bytes.end());
    (void)LLVMFuzzerTestOneInput(block.data(), block.size());
}

}  // namespace

/// Arguments: files, and folders of files; a folder that is not there is an empty one.
int main(int argc, char** argv)
{
    std::size_t files = 0;
    for (int i = 1; i < argc; ++i) {
        if (std::filesystem::is_regular_file(argv[i])) {
            replay(argv[i]);
            ++files;
        } else if (std::filesystem::is_directory(argv[i])) {
            for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
                replay(entry.path());
                ++files;
            }
        }
    }
    std::cout << files << " inputs\n";
    return files == 0 ? 1 : 0;
}
