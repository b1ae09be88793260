#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace redlock::test {

/// A folder of its own that is deleted with the object. Its path is short enough for a unix socket
/// inside.
class temp_dir {
public:
    temp_dir()
    {
        constexpr std::size_t longest_base =
            48;  // leaves room for a name within the 107 bytes of sun_path
        auto base = std::filesystem::temp_directory_path();
        if (base.native().size() > longest_base) {
            base = "/tmp";
        }
        std::string name = base / "redlock-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), "mkdtemp");
        }
        path_ = name;
    }

    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;

    ~temp_dir()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const
    {
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

}  // namespace redlock::test
