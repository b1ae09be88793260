#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace redlock::bench {

/**
 * Runs a program to its end and returns its standard output. The program ends with this process.
 * Blocks.
 * Throws `std::exception` if the program cannot be started or exits with another status than 0.
 */
[[nodiscard]] std::string output_of(const std::filesystem::path& program,
                                    const std::vector<std::string>& arguments);

/// A program that is controlled over its standard input and output. It ends with this object, and
/// with this process. All calls block, and throw `std::exception` if the program has ended or
/// fails.
class child {
public:
    /// PATH is searched for the program, unless its name has a slash.
    child(const std::string& program, const std::vector<std::string>& arguments);
    child(child&&) noexcept;
    ~child();

    /// The program's next line, without the line end.
    [[nodiscard]] std::string read_line();

    void write(const std::string& text);

    /// Its input ends.
    void close_input();

    /// Waits until the program ends by itself.
    void wait();

private:
    class running;
    std::unique_ptr<running> running_;
};

}  // namespace redlock::bench
