#pragma once

#include "core/pool.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <utility>

namespace redlock::core {

/// A FIFO that takes its memory in blocks from a pool that several share. It returns each block
/// after use, so a FIFO that was long once leaves room for the others.
template <class T>
class fifo {
public:
    static constexpr std::size_t block_length = 32;

    struct block {
        std::array<T, block_length> slots{};
        block* next = nullptr;
    };
    using blocks = pool<block>;

    /// `common` must outlive the FIFO. It owns the blocks that the FIFO still has at its end.
    explicit fifo(blocks& common) noexcept : blocks_(common) {}
    fifo(const fifo&) = delete;
    fifo& operator=(const fifo&) = delete;

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] const T& front() const noexcept
    {
        assert(size_ > 0);
        return first_->slots[head_];
    }

    /// Makes room for `more` elements, at most one block, so that `push` finds room.
    void reserve(std::size_t more)
    {
        assert(more <= block_length);
        if (block_length - end_ < more && spare_ == nullptr) {
            spare_ = &blocks_.take();
        }
    }

    /// There must be room.
    void push(T value) noexcept
    {
        if (end_ == block_length) {
            add_spare();
        }
        last_->slots[end_] = std::move(value);
        ++end_;
        ++size_;
    }

    T pop() noexcept
    {
        assert(size_ > 0);
        T value = std::move(first_->slots[head_]);
        ++head_;
        --size_;
        if (head_ == block_length) {
            give_first();
        }
        return value;
    }

private:
    void add_spare() noexcept
    {
        assert(spare_ != nullptr);
        block* const added = std::exchange(spare_, nullptr);
        added->next = nullptr;
        (last_ == nullptr ? first_ : last_->next) = added;
        last_ = added;
        end_ = 0;
    }

    void give_first() noexcept
    {
        block& used = *first_;
        first_ = used.next;
        head_ = 0;
        if (first_ == nullptr) {
            last_ = nullptr;
            end_ = block_length;
        }
        blocks_.give(used);
    }

    blocks& blocks_;
    block* first_ = nullptr;
    block* last_ = nullptr;
    /// The block to follow the last one when that is full. Mostly null.
    block* spare_ = nullptr;
    /// The index of the oldest element, in the first block.
    std::size_t head_ = 0;
    /// The index after the newest element, in the last block.
    std::size_t end_ = block_length;
    std::size_t size_ = 0;
};

}  // namespace redlock::core
