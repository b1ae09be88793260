#pragma once

#include "base/settings.hpp"
#include "engine/link.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::engine {

/**
 * The client's trusted certificates and own identity, loaded from the files of `tls_config`.
 *
 * If a file changes, all files are loaded again together. If one of them can't be loaded, the
 * previous ones stay in use.
 */
class tls_files {
public:
    /// Logs a line about the files.
    using teller =
        std::function<void(log_level level, std::string_view what, std::string_view why)>;

    /// Loads the files. `s` must outlive this object.
    /// @throws boost::system::system_error with `errc::invalid_config`, naming the field, if a file
    /// is unusable.
    explicit tls_files(const base::settings& s);

    /// The context for a new connection. Checks each file once, and loads all files again if one
    /// has changed.
    [[nodiscard]] const std::shared_ptr<tls_context>& latest(const teller& tell);

private:
    /// Distinguishes a file from a replacement and from a rewritten version of itself. All zeros if
    /// there is no regular file.
    struct stamp {
        std::uint64_t device = 0;
        std::uint64_t file = 0;
        std::int64_t size = 0;
        std::int64_t seconds = 0;
        std::int64_t nanoseconds = 0;

        bool operator==(const stamp&) const = default;
    };
    using stamps = std::array<stamp, 3>;

    [[nodiscard]] static stamp look_at(const std::string& path) noexcept;
    [[nodiscard]] stamps look() const noexcept;
    /// The fault of the first file that can't be loaded again, or empty. A file must be regular,
    /// because reading a pipe would block the event loop.
    [[nodiscard]] std::string unreadable(const stamps& now) const;

    const base::settings& settings_;
    /// Taken before the files are read, so that a change during the read is noticed next time.
    stamps loaded_;
    /// The stamps for which a line was last logged.
    stamps told_;
    std::shared_ptr<tls_context> context_;
};

}  // namespace redlock::engine
