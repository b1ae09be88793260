#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::chaos {

/// Nanoseconds since boot: the clock of the library's validities, the same in every process.
using nanos = std::int64_t;

[[nodiscard]] nanos now() noexcept;

/// Whole milliseconds, in words.
[[nodiscard]] std::string in_ms(nanos time);

/// What a worker puts on record, but for the last. `value` is what stands behind the dash, else
/// nothing.
enum class event : std::uint8_t {
    acquire_begins,  ///< - the longest that it may take
    token,           ///< - the fencing token that was had
    acquired,        ///< - the end of the validity
    not_acquired,
    extend_begins,  ///< - the longest that it may take
    extended,       ///< - the end of the validity, as the lock has it now
    not_extended,
    renewed,     ///< - the same, of a lock that was kept alive meanwhile
    gives_back,  ///< - the longest that it may take; from here on nobody believes in the lease
    given_back,
    reads,        ///< the set is read, to be written with one element more
    wrote,        ///< - the element that was added
    wrote_late,   ///< - the same, but the validity was over by then
    refrained,    ///< the lock was not owned any more, or not for long: nothing was written
    stood_still,  ///< - how long the whole process had until now, by its pulse
};

/// Why an operation did not give what it was asked for.
enum class reason : std::uint8_t {
    none,
    contended,
    unavailable,
    expired,
    timed_out,
    lost,
    not_held,
    cancelled,
    other,
};
inline constexpr std::size_t reasons = 9;

[[nodiscard]] std::string_view to_string(reason why) noexcept;

/// As it stands in the file.
struct record {
    nanos at = 0;
    std::int64_t value = 0;
    std::uint16_t worker = 0;
    std::uint16_t resource = 0;
    event what{};
    reason why{};
    std::uint16_t unused = 0;
};
static_assert(sizeof(record) == 24);

/// Where a process puts its records. Each is in the kernel's hands when `add` returns, so that none
/// is lost when the process is killed.
class history_file {
public:
    explicit history_file(const std::filesystem::path& path);
    ~history_file();
    history_file(const history_file&) = delete;
    history_file& operator=(const history_file&) = delete;

    /// From any thread.
    void add(const record& what) const;

private:
    int fd_ = -1;
};

/// Reads such a file while it grows.
class history_tail {
public:
    explicit history_tail(std::filesystem::path path) : path_(std::move(path)) {}

    /// What was added since the last call.
    [[nodiscard]] std::vector<record> read();

private:
    std::filesystem::path path_;
    std::uint64_t offset_ = 0;
};

}  // namespace redlock::chaos
