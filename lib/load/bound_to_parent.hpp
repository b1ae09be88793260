#pragma once

// Up to Boost 1.87, Boost.Process needs nothing to link with both: std::filesystem, and its own
// sources, which servers.cpp compiles. From 1.88 on it is a library, which is built without both.
#if __has_include(<boost/process/v2/src.hpp>)
#define BOOST_PROCESS_USE_STD_FS
#define BOOST_PROCESS_V2_SEPARATE_COMPILATION
#endif
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>

#include <cerrno>
#include <csignal>

#include <sys/prctl.h>
#include <unistd.h>

namespace redlock::bench {

/// In the child, before exec: the child gets a signal when the thread that started it ends.
struct bound_to_parent {
    int signal = SIGTERM;
    /// Gets no signals from the terminal.
    bool in_own_group = false;
    pid_t parent = ::getpid();

    boost::system::error_code on_exec_setup(boost::process::v2::posix::default_launcher&,
                                            const boost::process::v2::filesystem::path&,
                                            const char* const*) const
    {
        if (::prctl(PR_SET_PDEATHSIG, signal) != 0 || (in_own_group && ::setpgid(0, 0) != 0)) {
            return {errno, boost::system::system_category()};
        }
        // The parent may have died before the child asked for the signal.
        if (::getppid() != parent) {
            return {ESRCH, boost::system::system_category()};
        }
        return {};
    }
};

}  // namespace redlock::bench
