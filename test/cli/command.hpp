#pragma once

#include "support/masters.hpp"
#include "support/process.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace redlock::test {

/// The status that a command ended with, and its output on both streams.
struct said {
    int status = 0;
    std::string text;
};

/// `REDLOCK_NODES=...`
[[nodiscard]] std::string nodes_variable(const std::vector<std::string>& urls);

[[nodiscard]] std::string text_of(const std::filesystem::path& file);

/**
 * `XDG_CONFIG_HOME=...`: a file of options in `folder`, which the command reads instead of the
 * user's and the machine's. With these options no node of a busy machine is late, and no lock of
 * `acquire` ends while a test looks at it.
 */
[[nodiscard]] std::string own_options(const temp_dir& folder);

/// The option that gives a command's lock `brief_ttl`. The node timeout of `own_options` fits it.
inline const std::string brief_option = "--ttl=" + std::to_string(brief_ttl.count()) + "ms";
/// The option that ends a hold after `brief_ttl`.
inline const std::string brief_max_hold = "--max-hold=" + std::to_string(brief_ttl.count()) + "ms";

/// The redlock command, running or ended, with its `own_options`.
class command {
public:
    command(const masters& nodes, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment = {});
    explicit command(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment = {});

    [[nodiscard]] process& running() noexcept { return process_; }
    /// The output until now.
    [[nodiscard]] std::string text() const { return text_of(folder_ / "out"); }
    /// Waits until the output contains a text.
    [[nodiscard]] bool says(const std::string& what) const;
    [[nodiscard]] said end();

private:
    temp_dir folder_;
    process process_;
};

/// Runs a command to its end.
[[nodiscard]] said run(const masters& nodes, const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment = {});

}  // namespace redlock::test
