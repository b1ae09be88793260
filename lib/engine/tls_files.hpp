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
 * The client's trust and identity, as the files of `tls_config` have them.
 *
 * Files that were replaced are loaded again, all of them together. If one of them can't be loaded,
 * those from before stay in use.
 */
class tls_files {
public:
    /// Where a line about the files goes.
    using teller =
        std::function<void(log_level level, std::string_view what, std::string_view why)>;

    /// `s` must outlive this object.
    /// @throws boost::system::system_error with `errc::invalid_config`, naming the field, when a
    /// file is of no use.
    explicit tls_files(const base::settings& s);

    /// For a new connection: looks at each file once, and loads them if one has changed.
    [[nodiscard]] const std::shared_ptr<tls_context>& latest(const teller& tell);

private:
    /// What tells a file from one that replaces it, or from itself once it is rewritten. Zeros:
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
    /// Which file can't be loaded again; empty: none. A read of a pipe would stop the event loop.
    [[nodiscard]] std::string unreadable(const stamps& now) const;

    const base::settings& settings_;
    /// Taken before the files are read, so that a change in between is seen the next time.
    stamps loaded_;
    /// The last ones that a line was logged about.
    stamps told_;
    std::shared_ptr<tls_context> context_;
};

}  // namespace redlock::engine
