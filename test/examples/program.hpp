#pragma once

#include "support/process.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// One of the examples, run, with all that it said.
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

    /// Waits for it; false when it is not said.
    [[nodiscard]] bool says(std::string_view text) const
    {
        return wait_for([&] { return has_said(text); });
    }

    [[nodiscard]] redlock::test::process& process() noexcept { return process_; }

private:
    temp_dir folder_;
    redlock::test::process process_;
};

/// The arguments, and the nodes behind them.
inline std::vector<std::string> with(std::vector<std::string> arguments,
                                     const std::vector<std::string>& nodes)
{
    arguments.insert(arguments.end(), nodes.begin(), nodes.end());
    return arguments;
}

}  // namespace redlock::test
