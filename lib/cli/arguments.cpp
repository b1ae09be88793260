#include "cli/arguments.hpp"

#include "cli/secret_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <system_error>

namespace redlock::cli {
namespace {

std::string environment(const char* name)
{
    const char* const set = std::getenv(name);
    std::string out = set == nullptr ? "" : set;
    trim_line(out);
    return out;
}

}  // namespace

bool is_given(const std::vector<std::string>& arguments, const std::string& option)
{
    return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
        return argument == option || argument.starts_with(option + '=');
    });
}

bool is_given_empty(const std::vector<std::string>& arguments, const std::string& option)
{
    for (auto at = arguments.begin(); at != arguments.end(); ++at) {
        const bool is_next_empty =
            *at == option && std::next(at) != arguments.end() && std::next(at)->empty();
        if (*at == option + '=' || is_next_empty) {
            return true;
        }
    }
    return false;
}

std::vector<std::string> with_environment(const std::vector<std::string>& arguments)
{
    std::vector<std::string> out;
    if (!is_given(arguments, "--node")) {
        std::istringstream nodes(environment("REDLOCK_NODES"));
        for (std::string url; nodes >> url;) {
            out.push_back("--node=" + url);
        }
    }
    if (const std::string user = environment("REDLOCK_USER");
        !user.empty() && !is_given(arguments, "--user")) {
        out.push_back("--user=" + user);
    }
    if (const std::string file = environment("REDLOCK_CONFIG");
        !file.empty() && !is_given(arguments, "--config")) {
        out.push_back("--config=" + file);
    }
    out.insert(out.end(), arguments.begin(), arguments.end());
    return out;
}

std::string usual_file()
{
    namespace fs = std::filesystem;
    std::vector<fs::path> places;
    if (const fs::path base = environment("XDG_CONFIG_HOME"); !base.empty()) {
        places.push_back(base / "redlock.toml");
    } else if (const fs::path home = environment("HOME"); !home.empty()) {
        places.push_back(home / ".config/redlock.toml");
    }
    places.emplace_back("/etc/redlock.toml");
    for (const auto& place : places) {
        // A file that can't be read may have a key prefix. Without it the command would take
        // another lock, so only a file that is not there is passed over.
        std::error_code ignored;
        if (fs::symlink_status(place, ignored).type() != fs::file_type::not_found) {
            return place;
        }
    }
    return {};
}

}  // namespace redlock::cli
