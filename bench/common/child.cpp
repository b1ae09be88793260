#include "common/child.hpp"

// As in servers.cpp, which compiles the library's own sources.
#define BOOST_PROCESS_USE_STD_FS
#define BOOST_PROCESS_V2_SEPARATE_COMPILATION
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/system/system_error.hpp>

#include <cerrno>
#include <csignal>
#include <stdexcept>

#include <sys/prctl.h>
#include <unistd.h>

namespace redlock::bench {
namespace {

namespace asio = boost::asio;
namespace process = boost::process::v2;

/// In the child, before exec.
struct ends_with_parent {
    pid_t parent = ::getpid();

    boost::system::error_code on_exec_setup(process::posix::default_launcher&,
                                            const process::filesystem::path&,
                                            const char* const*) const
    {
        if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
            return {errno, boost::system::system_category()};
        if (::getppid() != parent)
            return {ESRCH, boost::system::system_category()};
        return {};
    }
};

}  // namespace

std::string output_of(const std::filesystem::path& program,
                      const std::vector<std::string>& arguments)
{
    if (!std::filesystem::exists(program))
        throw std::runtime_error("there is no " + program.string());
    asio::io_context io;
    asio::readable_pipe pipe(io);
    process::process child(io, program, arguments, process::process_stdio{nullptr, pipe, stderr},
                           ends_with_parent{});
    std::string output;
    boost::system::error_code end;
    asio::read(pipe, asio::dynamic_buffer(output), end);
    if (const int status = child.wait(); status != 0 || end != asio::error::eof)
        throw std::runtime_error(program.filename().string() + " failed with status " +
                                 std::to_string(status));
    return output;
}

}  // namespace redlock::bench
