#pragma once

#include "core/ring.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::core {

/**
 * Buffers of one size that all nodes of a client fill, one after the other. They come back empty
 * and overwritten, as owner tokens and passwords were in them.
 */
class output_blocks {
public:
    /// So much is written at a time.
    static constexpr std::size_t block_size = std::size_t{64} * 1024;

    /// Keeps so many when they are not in use.
    explicit output_blocks(std::size_t kept) { free_.reserve(kept); }

    [[nodiscard]] std::string take();
    /// Any string: one that is no block, or one too many, is not kept.
    void give(std::string&& used) noexcept;

private:
    std::vector<std::string> free_;
};

/// What is to be written to one node: blocks, each of them a write. One grows where a row of
/// commands does not fit, and takes no further row then.
class output {
public:
    /// The blocks go back there in the end.
    explicit output(output_blocks& blocks) noexcept : blocks_(blocks) {}
    ~output() { wipe(); }
    output(const output&) = delete;
    output& operator=(const output&) = delete;

    /// The row that is put behind `last` now will find room there, unless it is very long.
    /// @throws std::bad_alloc; then nothing has changed.
    void make_room()
    {
        if (last_.capacity() < block_size || last_.size() > block_size - least_room) {
            begin_block();
        }
    }
    /// What was added is not moved by what is added to another node.
    [[nodiscard]] std::string& last() noexcept { return last_; }

    [[nodiscard]] bool empty() const noexcept { return last_.empty() && waiting_ == 0; }
    /// In bytes, with those that are being written.
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
    /// The connection is gone.
    void wipe() noexcept;

private:
    static constexpr std::size_t block_size = output_blocks::block_size;
    /// Most rows of commands are shorter by far.
    static constexpr std::size_t least_room = 1024;

    void begin_block();

    output_blocks& blocks_;
    /// Those before the last; the first of them may have been taken.
    ring<std::string> full_;
    std::string last_;
    /// Bytes in `full_`.
    std::size_t waiting_ = 0;
    std::size_t being_written_ = 0;
};

}  // namespace redlock::core
