#pragma once

#include "support/process.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A running example with all of its output.
class program {
public:
    program(const std::string& name, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment = {})
        : process_(EXAMPLES "/" + name, arguments, {folder_ / "out", {}, environment})
    {}

    [[nodiscard]] std::string said() const
    {
        std::ifstream file(folder_ / "out");
        return {std::istreambuf_iterator<char>(file), {}};
    }

    [[nodiscard]] bool has_said(std::string_view text) const
    {
        return said().find(text) != std::string::npos;
    }

    /// Waits for a text in the output. False if the program ends without it.
    [[nodiscard]] bool says(std::string_view text) const
    {
        return wait_for([&] { return has_said(text); });
    }

    [[nodiscard]] redlock::test::process& process() noexcept { return process_; }

private:
    temp_dir folder_;
    redlock::test::process process_;
};

/// The output of an example until its end, and its exit status.
struct ended_program {
    std::string said;
    int status = 0;

    [[nodiscard]] bool has_said(std::string_view text) const
    {
        return said.find(text) != std::string::npos;
    }
};

/**
 * Runs an example to its end, and again while its output has one of `when_late`. The examples have
 * the timeouts of users' programs: a node has 50 ms for an answer, and a lock may last a second.
 * Programs and nodes on a busy machine take longer at times, and then the program says so. Any
 * other output ends the runs.
 */
[[nodiscard]] inline ended_program run_in_time(const std::string& name,
                                               const std::vector<std::string>& arguments,
                                               const std::vector<std::string>& when_late)
{
    ended_program last;
    // If the program is late each time, its last output fails the test.
    for (int run = 0; run < 5; ++run) {
        program example(name, arguments);
        last.status = example.process().wait();
        last.said = example.said();
        if (std::none_of(when_late.begin(), when_late.end(),
                         [&](const std::string& text) { return last.has_said(text); })) {
            break;
        }
        WARN(name << " was late: " << last.said);
    }
    return last;
}

// The client's messages when nodes were late.
inline const std::string no_majority = "No majority of the nodes gave an answer that counts";
inline const std::string timeout_passed = "The timeout passed before the lock was acquired";
inline const std::string granted_too_late = "The nodes granted the lock too late";

/// Whether no node has the key any more. A busy machine may carry out the last release after the
/// program has ended, but not when the ttl of the examples, 10 s or more, has almost ended.
template <class Nodes>
[[nodiscard]] bool is_released(const Nodes& nodes, const std::string& key)
{
    return wait_for([&] { return nodes.count(key) == 0; }, std::chrono::seconds(5));
}

/// The arguments, followed by the nodes.
inline std::vector<std::string> with(std::vector<std::string> arguments,
                                     const std::vector<std::string>& nodes)
{
    arguments.insert(arguments.end(), nodes.begin(), nodes.end());
    return arguments;
}

}  // namespace redlock::test
