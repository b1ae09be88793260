#pragma once

#include <cerrno>
#include <system_error>

#include <sys/resource.h>

namespace redlock::test {

/// No file or socket can be opened while this object lives. UndefinedBehaviorSanitizer does not
/// recognize an object when it cannot open a pipe.
class no_more_files {
public:
    no_more_files()
    {
        if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) {
            throw std::system_error(errno, std::generic_category(), "getrlimit");
        }
        const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
        if (::setrlimit(RLIMIT_NOFILE, &none) != 0) {
            throw std::system_error(errno, std::generic_category(), "setrlimit");
        }
    }
    ~no_more_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    no_more_files(const no_more_files&) = delete;
    no_more_files& operator=(const no_more_files&) = delete;

private:
    rlimit before_{};
};

}  // namespace redlock::test
