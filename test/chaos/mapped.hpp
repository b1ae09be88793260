#pragma once

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace redlock::chaos {

/// A `T` in a file, shared by all processes that map it. It begins as zeros, and its pages take
/// memory when they are first written.
template <class T>
class mapped {
public:
    static_assert(std::is_standard_layout_v<T> && std::is_trivially_destructible_v<T>);

    /// Creates the file if it does not exist.
    explicit mapped(const std::filesystem::path& path)
    {
        const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && ::ftruncate(fd, sizeof(T)) == 0) {
            memory_ = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        }
        const int error = errno;
        if (fd >= 0) {
            ::close(fd);
        }
        if (memory_ == MAP_FAILED) {
            throw std::system_error(error, std::generic_category(), path.native());
        }
    }

    ~mapped() { ::munmap(memory_, sizeof(T)); }
    mapped(const mapped&) = delete;
    mapped& operator=(const mapped&) = delete;

    [[nodiscard]] T& operator*() const noexcept { return *static_cast<T*>(memory_); }
    [[nodiscard]] T* operator->() const noexcept { return static_cast<T*>(memory_); }

private:
    void* memory_ = MAP_FAILED;
};

}  // namespace redlock::chaos
