#include "cli/descendants.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace redlock::cli {
namespace {

struct process {
    process_id id;
    pid_t parent = 0;
    pid_t session = 0;
    char state = 0;
};

/// The number of fields in /proc/PID/stat between the session and the start time.
constexpr int fields_to_begun = 15;

/// Reads a process from its folder. Empty if the process has ended, or if the folder isn't a
/// process.
std::optional<process> read(const std::filesystem::path& folder)
{
    process out;
    const std::string name = folder.filename();
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), out.id.pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) {
        return std::nullopt;
    }
    std::ifstream file(folder / "stat");
    std::string text;
    // An iterator would throw if the process has just ended; getline doesn't.
    std::getline(file, text, '\0');
    // "PID (NAME) STATE PARENT ...", where NAME may contain any characters.
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string skipped;
    fields >> out.state >> out.parent >> skipped >> out.session;
    for (int i = 0; i < fields_to_begun; ++i) {
        fields >> skipped;
    }
    fields >> out.id.begun;
    const bool has_ended = out.state == 'Z' || out.state == 'X';
    return !fields || has_ended ? std::nullopt : std::optional(out);
}

}  // namespace

bool sees_processes()
{
    std::error_code missing;
    return std::filesystem::read_symlink("/proc/self", missing) == std::to_string(getpid());
}

bool is_stopped(pid_t process)
{
    const auto found = read("/proc/" + std::to_string(process));
    return found && (found->state == 'T' || found->state == 't');
}

bool is_in_session(pid_t process, pid_t session)
{
    const auto found = read("/proc/" + std::to_string(process));
    return found && found->session == session;
}

std::vector<process_id> descendants(const std::vector<process_id>& left_out)
{
    if (!sees_processes()) {
        return {};
    }
    const auto has = [](const std::vector<process_id>& some, const process_id& one) {
        return std::find(some.begin(), some.end(), one) != some.end();
    };
    std::vector<process> all;
    std::error_code gone;
    for (std::filesystem::directory_iterator at("/proc", gone), end; !gone && at != end;
         at.increment(gone)) {
        const auto one = read(at->path());
        if (one && !has(left_out, one->id)) {
            all.push_back(*one);
        }
    }
    std::vector<process_id> out{{getpid()}};
    for (std::size_t i = 0; i < out.size(); ++i) {
        for (const auto& one : all) {
            if (one.parent == out[i].pid && !has(out, one.id)) {
                out.push_back(one.id);
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
