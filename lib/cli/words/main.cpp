// Writes the manual pages and the shell completions of the command, when the command is built.

#include "cli/command_line.hpp"
#include "cli/words/completion.hpp"
#include "cli/words/manual.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

void write(const std::filesystem::path& file, const std::string& text)
{
    std::ofstream out(file);
    out.exceptions(std::ios::failbit | std::ios::badbit);
    out << text << std::flush;
}

/// Writes all files. The folder is removed first, so that no outdated page stays.
void write_all(const std::filesystem::path& folder)
{
    const redlock::cli::command_line line;
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder / "man1");
    write(folder / "redlock", redlock::cli::bash_completion(line.app()));
    write(folder / "_redlock", redlock::cli::zsh_completion(line.app()));
    write(folder / "redlock.fish", redlock::cli::fish_completion(line.app()));
    for (const auto& [name, page] : redlock::cli::manual_pages(line.app())) {
        write(folder / "man1" / (name + ".1"), page);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        if (argc == 2) {
            write_all(argv[1]);
            return 0;
        }
        std::fputs("usage: redlock-words FOLDER\n", stderr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "redlock-words: %s\n", e.what());
    }
    return 1;
}
