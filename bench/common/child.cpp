#include "common/child.hpp"

#include "load/bound_to_parent.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/process/v2/environment.hpp>
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
    process::process child(io, program.c_str(), arguments,
                           process::process_stdio{nullptr, pipe, stderr}, bound_to_parent{});
    std::string output;
    boost::system::error_code end;
    asio::read(pipe, asio::dynamic_buffer(output), end);
    if (const int status = child.wait(); status != 0 || end != asio::error::eof) {
        throw std::runtime_error(program.filename().string() + " failed with status " +
                                 std::to_string(status));
    }
    return output;
}

class child::running {
public:
    running(const std::filesystem::path& program, const std::vector<std::string>& arguments)
        : program_(program),
          process_(io_, program.c_str(), arguments, process::process_stdio{input_, output_, stderr},
                   bound_to_parent{})
    {}

    std::string read_line()
    {
        boost::system::error_code failure;
        const auto size = asio::read_until(output_, asio::dynamic_buffer(read_), '\n', failure);
        if (failure) {
            throw std::runtime_error(program_.filename().string() + " has ended");
        }
        std::string line = read_.substr(0, size - 1);
        read_.erase(0, size);
        return line;
    }

    void write(const std::string& text) { asio::write(input_, asio::buffer(text)); }
    void close_input() { input_.close(); }

    void wait()
    {
        if (const int status = process_.wait(); status != 0) {
            throw std::runtime_error(program_.filename().string() + " failed with status " +
                                     std::to_string(status));
        }
    }

private:
    std::filesystem::path program_;
    asio::io_context io_;
    asio::writable_pipe input_{io_};
    asio::readable_pipe output_{io_};
    std::string read_;
    process::process process_;
};

namespace {

std::filesystem::path found(const std::string& program)
{
    std::filesystem::path path = program;
    if (!path.has_parent_path()) {
        path = process::environment::find_executable(program).string();
    }
    if (path.empty() || !std::filesystem::exists(path)) {
        throw std::runtime_error("there is no " + program);
    }
    return path;
}

}  // namespace

child::child(const std::string& program, const std::vector<std::string>& arguments)
    : running_(std::make_unique<running>(found(program), arguments))
{}

child::child(child&&) noexcept = default;
child::~child() = default;

std::string child::read_line()
{
    return running_->read_line();
}

void child::write(const std::string& text)
{
    running_->write(text);
}

void child::close_input()
{
    running_->close_input();
}

void child::wait()
{
    running_->wait();
}

}  // namespace redlock::bench
