#pragma once

#include "cli/doctor/doctor.hpp"

#include "support/run.hpp"
#include "support/server.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

inline constexpr std::chrono::milliseconds short_watch{100};

/// Long enough that the round trips of a busy machine are short beside the gain of a fast clock.
inline constexpr std::chrono::milliseconds long_watch{3000};

/// The doctor's findings and verdict.
struct consultation {
    explicit consultation(config c, std::chrono::milliseconds watch = short_watch,
                          std::optional<std::string> resource = {})
    {
        std::ostringstream out;
        status = cli::doctor({std::move(c), true, watch, std::move(resource)}, out);
        text = out.str();
        all = nlohmann::json::parse(text);
    }

    /// Leaves out the findings that a short watch on a busy machine causes.
    [[nodiscard]] std::set<std::string> codes() const
    {
        std::set<std::string> found;
        for (const auto& f : all["findings"]) {
            found.insert(f["code"].get<std::string>());
        }
        found.erase("clock-rate-unknown");
        return found;
    }

    /// The first finding with that code, or null.
    [[nodiscard]] nlohmann::json finding(const std::string& code) const
    {
        for (const auto& f : all["findings"]) {
            if (f["code"] == code) {
                return f;
            }
        }
        return {};
    }

    /// The finding as "error: its text", or empty.
    [[nodiscard]] std::string says(const std::string& code) const
    {
        const auto f = finding(code);
        return f.is_null() ? std::string()
                           : f["severity"].get<std::string>() + ": " + f["text"].get<std::string>();
    }

    [[nodiscard]] std::string locks() const { return all["verdict"]["locks"]; }

    int status = 0;
    std::string text;
    nlohmann::json all;
};

inline config patient(std::vector<std::string> nodes)
{
    config c;
    c.nodes = std::move(nodes);
    c.node_timeout = std::chrono::seconds(7);  // fits a max_ttl of 30 s
    c.connect_timeout = patience;
    c.stall_timeout = patience;
    // A short watch on a busy machine can't measure a rate to within the usual one per cent.
    c.drift_factor = 0.2;
    return c;
}

inline bool has(const std::string& text, std::string_view part)
{
    return text.find(part) != text.npos;
}

using codes = std::set<std::string>;

/// A node as the doctor prints it.
inline std::string shown(const std::string& url)
{
    return url + "/0";
}

/// Options of a node that the doctor has no findings about.
inline const server_options written_through{.files = persistence::append_only};

/// For tests with a silent node, in which the doctor waits for each of these timeouts. A process on
/// a busy machine rarely pauses for two seconds.
inline config impatient(std::vector<std::string> nodes)
{
    auto c = patient(std::move(nodes));
    c.node_timeout = brief_timeout;
    c.connect_timeout = std::chrono::seconds(3);
    c.stall_timeout = std::chrono::seconds(3);
    return c;
}

}  // namespace redlock::test
