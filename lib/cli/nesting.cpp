#include "cli/nesting.hpp"

#include "base/settings.hpp"
#include "base/text.hpp"
#include "cli/child.hpp"
#include "cli/descendants.hpp"
#include "cli/exit_status.hpp"
#include "cli/printing.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace redlock::cli {
namespace {

/// The FNV-1a hash of a text, in hexadecimal digits.
std::string digest_of(std::string_view text)
{
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325U;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3U;
    }
    char digits[16];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), hash, 16).ptr;
    return {std::begin(digits), end};
}

std::string place_of(const config& c)
{
    std::vector<std::string> nodes;
    for (const auto& node : base::make_settings(c).nodes) {
        nodes.push_back(node.display);
    }
    std::sort(nodes.begin(), nodes.end());
    std::string all = c.key_prefix;
    for (const auto& node : nodes) {
        all += '\n' + node;
    }
    return digest_of(all);
}

/// Creates a file in memory only. Returns -1 if the system has no memory.
int make_memory_file() noexcept
{
    // Systems that forbid executable memory files require this flag. Linux before 6.3 refuses it.
    constexpr unsigned never_executed = 0x0008;
    const int file = memfd_create("redlock", MFD_CLOEXEC | never_executed);
    return file >= 0 || errno != EINVAL ? file : memfd_create("redlock", MFD_CLOEXEC);
}

/// The end of validity that the holder published. Empty if the holder can't be asked.
std::optional<boot_clock::time_point> validity_of(const enclosing_lock& l)
{
    const std::string name =
        "/proc/" + std::to_string(l.holder) + "/fd/" + std::to_string(l.validity);
    const int file = open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return std::nullopt;
    }
    boot_clock::rep since_boot = 0;
    const bool is_read = pread(file, &since_boot, sizeof since_boot, 0) == sizeof since_boot;
    close(file);
    return is_read ? std::optional(boot_clock::time_point(boot_clock::duration(since_boot)))
                   : std::nullopt;
}

/// Parses "HOLDER VALIDITY FENCING_TOKEN PLACE RESOURCE". Empty if the line has another form.
std::optional<enclosing_lock> read_line(const std::string& line)
{
    enclosing_lock out;
    std::istringstream words(line);
    if (!(words >> out.holder >> out.validity >> out.fencing_token) || words.get() != ' ') {
        return std::nullopt;
    }
    std::getline(words, out.key);
    return out;
}

std::string line_of(const enclosing_lock& l)
{
    return std::to_string(l.holder) + ' ' + std::to_string(l.validity) + ' ' +
           std::to_string(l.fencing_token) + ' ' + l.key + '\n';
}

/// Checks that one variable can hold the locks' fencing token.
/// @throws std::invalid_argument if the locks have no fencing token, or different ones.
void check_fencing(const std::vector<std::string>& resources, const enclosing_locks& around)
{
    const std::uint64_t token = around.find(resources.front())->fencing_token;
    for (const auto& name : resources) {
        const std::uint64_t other = around.find(name)->fencing_token;
        if (other == 0) {
            throw std::invalid_argument(
                base::printable(name) +
                ": the enclosing lock has no fencing token: the outer run needs --fencing, or "
                "this one --no-fencing");
        }
        if (other != token) {
            throw std::invalid_argument(
                names(resources) +
                ": the enclosing locks have different fencing tokens: acquire them together in one "
                "run, or give this run --no-fencing");
        }
    }
}

/// Replaces this process by the command, under locks that outer runs hold.
int exec_command(const run_options& o, const enclosing_locks& around, bool json)
{
    if (o.fencing) {
        check_fencing(o.resources, around);
    }
    std::uint64_t token = around.find(o.resources.front())->fencing_token;
    auto valid_until = boot_clock::time_point::max();
    for (const auto& name : o.resources) {
        const enclosing_lock& lock = *around.find(name);
        token = lock.fencing_token == token ? token : 0;  // one variable can't hold several
        valid_until = std::min(valid_until, lock.valid_until.value());
    }
    std::signal(SIGPIPE, SIG_DFL);
    using std::chrono::system_clock;
    const auto left =
        std::chrono::duration_cast<system_clock::duration>(valid_until - boot_clock::now());
    const auto environment = environment_with(
        variables_of(o.resources, token, unix_time(system_clock::now() + left), around.text()));
    execvpe(o.command[0].c_str(), pointers(o.command).data(), pointers(environment).data());
    const int error = errno;
    return fail(o.command[0] + ": " + std::generic_category().message(error),
                error == ENOENT ? not_found : not_executable, json);
}

}  // namespace

enclosing_locks::enclosing_locks(const config& c) : place_(place_of(c))
{
    const char* const held = std::getenv("REDLOCK_HELD");
    if (held == nullptr) {
        return;
    }
    const auto living = ancestors();
    std::istringstream lines(held);
    for (std::string one; std::getline(lines, one);) {
        auto lock = read_line(one);
        if (lock && std::find(living.begin(), living.end(), lock->holder) != living.end()) {
            lock->valid_until = validity_of(*lock);
            lock->is_over = lock->valid_until && *lock->valid_until <= boot_clock::now();
            locks_.push_back(*std::move(lock));
        }
    }
}

const enclosing_lock* enclosing_locks::find(std::string_view resource) const
{
    const std::string key = key_of(resource);
    const auto found = std::find_if(locks_.rbegin(), locks_.rend(),
                                    [&](const enclosing_lock& l) { return l.key == key; });
    return found == locks_.rend() ? nullptr : &*found;
}

enclosing enclosing_locks::position_of(std::span<const std::string> resources) const
{
    const auto held = std::count_if(resources.begin(), resources.end(), [&](const auto& name) {
        const enclosing_lock* const lock = find(name);
        return lock != nullptr && !lock->is_over;
    });
    if (held == 0) {
        return enclosing::none;
    }
    return static_cast<std::size_t>(held) == resources.size() ? enclosing::all : enclosing::some;
}

const std::string* enclosing_locks::ended_among(std::span<const std::string> resources) const
{
    const auto found = std::find_if(resources.begin(), resources.end(), [&](const auto& name) {
        const enclosing_lock* const lock = find(name);
        return lock != nullptr && (lock->is_over || !lock->valid_until);
    });
    return found == resources.end() ? nullptr : &*found;
}

std::string enclosing_locks::text() const
{
    std::string out;
    for (const auto& one : locks_) {
        out += line_of(one);
    }
    return out;
}

std::string enclosing_locks::and_of(std::span<const std::string> resources,
                                    std::uint64_t fencing_token, int validity) const
{
    std::string out = text();
    for (const auto& resource : resources) {
        out += line_of({getpid(), validity, fencing_token, {}, {}, key_of(resource)});
    }
    return out;
}

std::string enclosing_locks::key_of(std::string_view resource) const
{
    return place_ + ' ' + base::printable(resource);
}

int refuse_to_wait_for_itself(const std::vector<std::string>& resources, enclosing inside,
                              std::string_view way_out, bool json)
{
    const std::string why =
        inside == enclosing::all
            ? ": this command runs under that lock already, so it cannot acquire the lock again; " +
                  std::string(way_out)
            : ": this command runs under one of these locks already, so it cannot acquire them; "
              "let the outer redlock run acquire all of them";
    return say(names(resources) + why, usage, json);
}

/// Formats a date as "1793887389.123". A script can compare it with the output of date +%s.
std::string unix_time(std::chrono::system_clock::time_point when)
{
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(when).time_since_epoch().count();
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(ms / 1000),
                  static_cast<int>(ms % 1000));
    return text;
}

std::vector<std::string> variables_of(std::span<const std::string> names, std::uint64_t token,
                                      const std::string& valid_until, const std::string& held)
{
    std::string resources;
    for (const auto& name : names) {
        resources += resources.empty() ? "" : "\n";
        resources += name;
    }
    std::vector<std::string> out{"REDLOCK_RESOURCE=" + resources,
                                 "REDLOCK_VALID_UNTIL=" + valid_until, "REDLOCK_HELD=" + held};
    if (token != 0) {
        out.push_back("REDLOCK_FENCING_TOKEN=" + std::to_string(token));
    }
    return out;
}

std::optional<int> run_inside(const run_options& o, const enclosing_locks& around, bool json)
{
    if (const auto* const ended = around.ended_among(o.resources); o.nested && ended != nullptr) {
        const enclosing_lock& lock = *around.find(*ended);
        return say(base::printable(*ended) + ": the outer redlock run (pid " +
                       std::to_string(lock.holder) +
                       (lock.valid_until
                            ? ") no longer holds this lock: it lost or released the lock, or did "
                              "not renew it in time"
                            : ") does not show this process whether it still holds this lock: run "
                              "both as the same user") +
                       "; redlock did not start the command",
                   exit_status::lost, json);
    }
    const auto inside = around.position_of(o.resources);
    if (inside == enclosing::none) {
        return std::nullopt;
    }
    if (inside == enclosing::all && o.nested) {
        return exec_command(o, around, json);
    }
    const bool is_shown = around.ended_among(o.resources) == nullptr;
    return refuse_to_wait_for_itself(
        o.resources, inside,
        is_shown ? "--nested runs the command under it"
                 : "--nested runs the command under it if the outer redlock run still holds it "
                   "and has the same user",
        json);
}

published_validity::published_validity() noexcept : descriptor_(make_memory_file()) {}

published_validity::~published_validity()
{
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

void published_validity::set(boot_clock::time_point end) const noexcept
{
    const boot_clock::rep since_boot = end.time_since_epoch().count();
    [[maybe_unused]] const auto written = pwrite(descriptor_, &since_boot, sizeof since_boot, 0);
}

}  // namespace redlock::cli
