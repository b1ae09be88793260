#include "cli/nonblocking_stderr.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace redlock::cli {

nonblocking_stderr::nonblocking_stderr() noexcept
{
    struct stat found {};
    if (fstat(STDERR_FILENO, &found) != 0) {
        return;
    }
    if (S_ISSOCK(found.st_mode)) {
        kind_ = kind::socket;
    } else if (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode)) {
        constexpr int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        descriptor_ = open("/proc/self/fd/2", flags);
        // Without /proc, or if the terminal is another user's.
        if (descriptor_ < 0 && tcgetpgrp(STDERR_FILENO) >= 0) {
            descriptor_ = open("/dev/tty", flags);
        }
        kind_ = descriptor_ >= 0 ? kind::reopened : kind::pollable;
    }
}

nonblocking_stderr::~nonblocking_stderr()
{
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

ssize_t nonblocking_stderr::write(std::string_view text) const noexcept
{
    switch (kind_) {
        case kind::reopened: return ::write(descriptor_, text.data(), text.size());
        case kind::socket:
            return send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        case kind::pollable: {
            pollfd one{STDERR_FILENO, POLLOUT, 0};
            if (poll(&one, 1, 0) != 1) {
                errno = EAGAIN;
                return -1;
            }
            // A pipe with room takes as much without a wait.
            text = text.substr(0, PIPE_BUF);
            break;
        }
        case kind::file: break;
    }
    return ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace redlock::cli
