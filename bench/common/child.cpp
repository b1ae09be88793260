#include "common/child.hpp"

#include "common/bound_to_parent.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/system/system_error.hpp>

#include <stdexcept>

namespace redlock::bench {

namespace asio = boost::asio;
namespace process = boost::process::v2;

std::string output_of(const std::filesystem::path& program,
                      const std::vector<std::string>& arguments)
{
    if (!std::filesystem::exists(program)) {
        throw std::runtime_error("there is no " + program.string());
    }
    asio::io_context io;
    asio::readable_pipe pipe(io);
    process::process child(io, program, arguments, process::process_stdio{nullptr, pipe, stderr},
                           bound_to_parent{});
    std::string output;
    boost::system::error_code end;
    asio::read(pipe, asio::dynamic_buffer(output), end);
    if (const int status = child.wait(); status != 0 || end != asio::error::eof) {
        throw std::runtime_error(program.filename().string() + " failed with status " +
                                 std::to_string(status));
    }
    return output;
}

}  // namespace redlock::bench
