#include "cli/nesting.hpp"

#include "base/settings.hpp"
#include "base/text.hpp"
#include "cli/descendants.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>

#include <unistd.h>

namespace redlock::cli {
namespace {

/// FNV-1a, in hexadecimal digits.
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

/// A line begins with the process that holds the lock.
bool is_of(const std::string& line, const std::vector<pid_t>& processes)
{
    pid_t holder = 0;
    std::from_chars(line.data(), line.data() + line.size(), holder);
    return std::find(processes.begin(), processes.end(), holder) != processes.end();
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
        if (is_of(one, living)) {
            lines_.push_back(std::move(one));
        }
    }
}

bool enclosing_locks::hold(std::string_view resource) const
{
    const std::string wanted = line(resource);
    return std::any_of(lines_.begin(), lines_.end(), [&](const std::string& one) {
        return one.substr(std::min(one.find(' '), one.size())) == wanted;
    });
}

std::string enclosing_locks::and_of(std::span<const std::string> resources) const
{
    std::string out;
    for (const auto& one : lines_) {
        out += one + '\n';
    }
    for (const auto& resource : resources) {
        out += std::to_string(getpid()) + line(resource) + '\n';
    }
    return out;
}

std::string enclosing_locks::line(std::string_view resource) const
{
    return ' ' + place_ + ' ' + base::printable(resource);
}

}  // namespace redlock::cli
