#pragma once

#include "core/pool.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <utility>

namespace redlock::core {

/// A FIFO that takes its memory from what several have in common, block by block, and gives it
/// back: one that is long for once leaves room for the others.
template <class T>
class fifo {
public:
    static constexpr std::size_t block_length = 32;

    struct block {
        std::array<T, block_length> slots{};
        block* next = nullptr;
    };
    using blocks = pool<block>;

    /// `common` outlives it: it keeps what it has in the end.
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

    /// Makes room for `more`, a block at most, so that so many pushes cannot throw.
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
    /// Behind the last, as soon as that is full. Null mostly.
    block* spare_ = nullptr;
    /// The next one to go, in the first block.
    std::size_t head_ = 0;
    /// Behind the one that came last, in the last block.
    std::size_t end_ = block_length;
    std::size_t size_ = 0;
};

}  // namespace redlock::core
