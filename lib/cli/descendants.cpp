#include "cli/descendants.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include <unistd.h>

namespace redlock::cli {
namespace {

struct process {
    pid_t pid = 0;
    pid_t parent = 0;
};

/// Empty: it has ended, or is none.
std::optional<process> read(const std::filesystem::path& folder)
{
    process out;
    const std::string name = folder.filename();
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), out.pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) {
        return std::nullopt;
    }
    std::ifstream file(folder / "stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // "PID (NAME) STATE PARENT ...", with whatever in the name.
    const auto end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos || end_of_name + 4 >= text.size()) {
        return std::nullopt;
    }
    const char state = text[end_of_name + 2];
    std::from_chars(text.data() + end_of_name + 4, text.data() + text.size(), out.parent);
    return state == 'Z' || state == 'X' ? std::nullopt : std::optional(out);
}

}  // namespace

std::vector<pid_t> descendants(const std::vector<pid_t>& left_out)
{
    const auto has = [](const std::vector<pid_t>& pids, pid_t pid) {
        return std::find(pids.begin(), pids.end(), pid) != pids.end();
    };
    std::vector<process> all;
    std::error_code gone;
    for (std::filesystem::directory_iterator at("/proc", gone), end; !gone && at != end;
         at.increment(gone)) {
        const auto one = read(at->path());
        if (one && !has(left_out, one->pid)) {
            all.push_back(*one);
        }
    }
    std::vector<pid_t> out{getpid()};
    for (std::size_t i = 0; i < out.size(); ++i) {
        for (const auto& one : all) {
            if (one.parent == out[i] && !has(out, one.pid)) {
                out.push_back(one.pid);
            }
        }
    }
    out.erase(out.begin());
    return out;
}

std::vector<pid_t> ancestors()
{
    std::vector<pid_t> out;
    const std::filesystem::path all("/proc");
    for (pid_t parent = getppid(); parent > 0;) {
        out.push_back(parent);
        const auto one = read(all / std::to_string(parent));
        parent = one ? one->parent : 0;
    }
    return out;
}

std::string name_of(pid_t process)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

}  // namespace redlock::cli
