#include "base/system_entropy.hpp"

#include <sys/random.h>

#include <cerrno>

namespace redlock::base {

bool system_entropy::fill(std::span<std::byte> out) noexcept
{
    while (!out.empty()) {
        const ssize_t got = ::getrandom(out.data(), out.size(), 0);
        if (got > 0) {
            out = out.subspan(static_cast<std::size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

}  // namespace redlock::base
