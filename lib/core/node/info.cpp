#include "core/node/info.hpp"

#include <algorithm>
#include <cstddef>

namespace redlock::core {

namespace {

constexpr std::size_t run_id_size = 40;

}  // namespace

std::string_view info_field(std::string_view info, std::string_view name) noexcept
{
    while (!info.empty()) {
        const std::size_t end = std::min(info.find_first_of("\r\n"), info.size());
        const std::string_view line = info.substr(0, end);
        info.remove_prefix(std::min(end + 1, info.size()));
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            return line.substr(name.size() + 1);
        }
    }
    return {};
}

std::string_view run_id_of(std::string_view info) noexcept
{
    const std::string_view id = info_field(info, "run_id");
    // Servers and proxies without a run id may answer with zeros.
    const bool fits = id.size() == run_id_size &&
                      id.find_first_not_of("0123456789abcdef") == id.npos &&
                      id.find_first_not_of('0') != id.npos;
    return fits ? id : std::string_view{};
}

std::string_view memory_fault(std::string_view info) noexcept
{
    const std::string_view policy = info_field(info, "maxmemory_policy");
    if (policy.empty()) {
        return "INFO has no maxmemory_policy, which the restart guard needs";
    }
    // A server without a memory limit evicts nothing.
    if (policy != "noeviction" && info_field(info, "maxmemory") != "0") {
        return "its maxmemory_policy may evict locks: the restart guard needs noeviction";
    }
    return {};
}

}  // namespace redlock::core
