#include "input.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

// Replaces libFuzzer where it is not built: runs a target over files, so that every compiler tries
// the inputs that once found a defect.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& file)
{
    // Printed before the run and flushed, because a failure ends the program.
    std::cout << file.string() << std::endl;
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    // In a separate block, so that a sanitizer sees reads past the end.
    const std::vector<std::uint8_t> block(bytes.begin(), bytes.end());
    (void)LLVMFuzzerTestOneInput(block.data(), block.size());
}

}  // namespace

/// Arguments: files, and folders of files. A folder that does not exist counts as empty.
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
