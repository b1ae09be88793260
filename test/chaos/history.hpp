#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::chaos {

/// Nanoseconds since boot. The library uses this clock for validities, and all processes share it.
using nanos = std::int64_t;

[[nodiscard]] nanos now() noexcept;

/// Whole milliseconds, in words.
[[nodiscard]] std::string in_ms(nanos time);

/// The records of a worker. Only `stood_still` is about the process. After a dash: the meaning of
/// `value`, which is otherwise unused.
enum class event : std::uint8_t {
    acquire_begins,  ///< - the longest time of the operation
    token,           ///< - the fencing token of the lock
    acquired,        ///< - the end of the validity
    not_acquired,
    extend_begins,  ///< - the longest time of the operation
    extended,       ///< - the new end of the validity
    not_extended,
    renewed,     ///< - the same for a lock that was kept alive meanwhile
    gives_back,  ///< - the longest time of the operation; the belief ends here
    given_back,
    reads,        ///< the set is read, and one element will be added
    wrote,        ///< - the added element
    wrote_late,   ///< - the same, but the validity had ended by then
    refrained,    ///< the lock was lost or about to end, so nothing was written
    stood_still,  ///< - how long the process was suspended until now, by its pulse
};

/// Why an operation failed.
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

/// The format in the file.
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

/// The file for the records of a process. The kernel has each record when `add` returns, so no
/// record is lost if the process is killed.
class history_file {
public:
    explicit history_file(const std::filesystem::path& path);
    ~history_file();
    history_file(const history_file&) = delete;
    history_file& operator=(const history_file&) = delete;

    /// Any thread may call it.
    void add(const record& what) const;

private:
    int fd_ = -1;
};

/// Reads such a file while it grows.
class history_tail {
public:
    explicit history_tail(std::filesystem::path path) : path_(std::move(path)) {}

    /// The records since the last call.
    [[nodiscard]] std::vector<record> read();

private:
    std::filesystem::path path_;
    std::uint64_t offset_ = 0;
};

}  // namespace redlock::chaos
