#pragma once

#include "core/ring.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::core {

/**
 * A pool of buffers of one size for the output of all nodes of a client. A buffer comes back empty
 * and overwritten, because owner tokens and passwords were in it.
 */
class output_blocks {
public:
    /// The size of one write, in bytes.
    static constexpr std::size_t block_size = std::size_t{64} * 1024;

    /// `kept`: the number of unused buffers to keep.
    explicit output_blocks(std::size_t kept) { free_.reserve(kept); }

    [[nodiscard]] std::string take();
    /// Takes any string. Keeps it only if it has the size of a block and there is room.
    void give(std::string&& used) noexcept;

private:
    std::vector<std::string> free_;
};

/// The bytes to write to one node, in blocks; each block is one write. If a row of commands does
/// not fit, the block grows and takes no further row.
class output {
public:
    /// Takes its blocks from `blocks`, and returns them in the end.
    explicit output(output_blocks& blocks) noexcept : blocks_(blocks) {}
    ~output() { wipe(); }
    output(const output&) = delete;
    output& operator=(const output&) = delete;

    /// Makes room in `last` for `bytes` of the next row of commands, without moving bytes that are
    /// there. A longer row may move them.
    /// @throws std::bad_alloc; then nothing has changed.
    void make_room(std::size_t bytes = usual_room)
    {
        if (last_.capacity() < block_size || last_.size() + bytes > block_size) {
            begin_block();
        }
    }
    /// The block to append to. Appending to another node's block does not move its bytes.
    [[nodiscard]] std::string& last() noexcept { return last_; }

    [[nodiscard]] bool empty() const noexcept { return last_.empty() && waiting_ == 0; }
    /// The size in bytes, including the block that is being written.
    [[nodiscard]] std::size_t size() const noexcept
    {
        return being_written_ + waiting_ + last_.size();
    }

    /// The first block, which counts until `on_written`. The caller leaves an empty string there.
    [[nodiscard]] std::string& take() noexcept;
    void on_written(std::string&& used) noexcept
    {
        being_written_ = 0;
        blocks_.give(std::move(used));
    }
    /// The connection is gone: overwrites and drops all bytes.
    void wipe() noexcept;

private:
    static constexpr std::size_t block_size = output_blocks::block_size;
    /// Most rows of commands are far shorter.
    static constexpr std::size_t usual_room = 1024;

    void begin_block();

    output_blocks& blocks_;
    /// The blocks before the last one. The first of them may have been taken.
    ring<std::string> full_;
    std::string last_;
    /// Bytes in `full_`.
    std::size_t waiting_ = 0;
    std::size_t being_written_ = 0;
};

}  // namespace redlock::core
