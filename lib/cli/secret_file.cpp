#include "cli/secret_file.hpp"

#include "base/address.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace redlock::cli {
namespace {

class open_file {
public:
    explicit open_file(const std::string& path)
        : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))
    {}
    ~open_file()
    {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    [[nodiscard]] int get() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

std::string system_text()
{
    return std::generic_category().message(errno);
}

bool is_regular(int descriptor) noexcept
{
    struct stat found {};
    return fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

/// Waits until there are bytes to read or the file ends. Returns false at `end`. Without the limit,
/// a pipe without a writer would block the command for ever.
bool becomes_readable(int descriptor, std::chrono::steady_clock::time_point end)
{
    pollfd one{descriptor, POLLIN, 0};
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        const int found = poll(&one, 1, std::max(static_cast<int>(left.count()), 0));
        if (found >= 0) {
            return found != 0;
        }
        if (errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "poll");
        }
    }
}

/// Reads up to the first line end. Returns why that failed, or an empty text.
std::string read_line(int descriptor, std::string& line, std::chrono::seconds patience)
{
    const auto end = std::chrono::steady_clock::now() + patience;
    // A string that grows leaves copies of its bytes in memory.
    line.reserve(base::max_url_size);
    for (char c = 0;;) {
        if (!becomes_readable(descriptor, end)) {
            return "no line was written to it within " + std::to_string(patience.count()) + " s";
        }
        const ssize_t got = read(descriptor, &c, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (got < 0) {
            return system_text();
        }
        if (got == 0 || c == '\n') {
            return {};
        }
        if (line.size() == base::max_url_size) {
            return "its first line is longer than " + std::to_string(base::max_url_size) + " bytes";
        }
        line += c;
    }
}

}  // namespace

std::string secret_in(const std::string& path, std::string_view option, readable kind,
                      std::chrono::seconds patience)
{
    const auto refuse = [&](const std::string& why) {
        throw std::invalid_argument(std::string(option) + ": " + base::printable(path) + ": " +
                                    why);
    };
    const open_file file(path);
    if (file.get() < 0) {
        refuse(system_text());
    }
    if (kind == readable::regular && !is_regular(file.get())) {
        refuse("it is no longer a regular file, and a read of it might never end");
    }
    std::string line;
    if (const std::string fault = read_line(file.get(), line, patience); !fault.empty()) {
        refuse(fault);
    }
    if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff")) {
        refuse("it is UTF-16 text; save it as UTF-8");
    }
    if (line.find('\0') != line.npos) {
        refuse("its first line has a NUL character; save it as plain text");
    }
    trim_line(line);
    if (line.empty()) {
        refuse("its first line is empty, and must be the secret");
    }
    return line;
}

void trim_line(std::string& line)
{
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (line.starts_with(byte_order_mark)) {
        line.erase(0, byte_order_mark.size());
    }
    line.erase(line.find_last_not_of("\r\n") + 1);
}

}  // namespace redlock::cli
