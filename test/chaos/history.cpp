#include "chaos/history.hpp"

#include <redlock/clock.hpp>

#include <cerrno>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace redlock::chaos {

nanos now() noexcept
{
    return boot_clock::now().time_since_epoch().count();
}

std::string in_ms(nanos time)
{
    return std::to_string(time / 1'000'000) + " ms";
}

std::string_view to_string(reason why) noexcept
{
    switch (why) {
        case reason::none: return "none";
        case reason::contended: return "contended";
        case reason::unavailable: return "unavailable";
        case reason::expired: return "expired";
        case reason::timed_out: return "timed out";
        case reason::lost: return "lost";
        case reason::not_held: return "not held";
        case reason::cancelled: return "cancelled";
        case reason::other: return "other";
    }
    return "?";
}

history_file::history_file(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600))
{
    if (fd_ < 0) {
        throw std::system_error(errno, std::generic_category(), path.native());
    }
}

history_file::~history_file()
{
    ::close(fd_);
}

void history_file::add(const record& what) const
{
    // In one piece, as several threads append.
    if (::write(fd_, &what, sizeof what) != static_cast<ssize_t>(sizeof what)) {
        throw std::system_error(errno, std::generic_category(), "history");
    }
}

std::vector<record> history_tail::read()
{
    std::vector<record> result;
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset_));
    record next;
    while (file.read(reinterpret_cast<char*>(&next), sizeof next)) {
        result.push_back(next);
        offset_ += sizeof next;
    }
    return result;
}

}  // namespace redlock::chaos
