#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace redlock::core {

/// Makes room for `least` elements, or for twice as many as before, so that growth step by step
/// does not copy all elements at each step.
template <class T>
void make_room(std::vector<T>& for_more, std::size_t least)
{
    if (for_more.capacity() < least) {
        for_more.reserve(std::max(least, 2 * for_more.capacity()));
    }
}

/**
 * Records that are used over and over. A record stays constructed while it waits for its next use,
 * so that its members keep their memory. The next user sets every field.
 */
template <class T, std::size_t records_a_block = 32>
class pool {
public:
    pool() = default;
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    [[nodiscard]] T& take()
    {
        if (free_.empty()) {
            grow();
        }
        T* record = free_.back();
        free_.pop_back();
        return *record;
    }

    void give(T& record) noexcept
    {
        assert(free_.size() < free_.capacity());
        free_.push_back(&record);  // cannot throw: grow() made room
    }

    [[nodiscard]] std::size_t in_use() const noexcept { return total_ - free_.size(); }

private:
    void grow()
    {
        make_room(free_, total_ + records_a_block);
        make_room(blocks_, blocks_.size() + 1);
        auto block = std::make_unique<T[]>(records_a_block);
        for (std::size_t i = 0; i < records_a_block; ++i) {
            free_.push_back(&block[i]);
        }
        blocks_.push_back(std::move(block));
        total_ += records_a_block;
    }

    std::vector<std::unique_ptr<T[]>> blocks_;
    std::vector<T*> free_;
    std::size_t total_ = 0;
};

/// Memory for coroutine frames, which have few sizes. A very large frame comes from the heap.
class frame_pool {
public:
    frame_pool() = default;
    frame_pool(const frame_pool&) = delete;
    frame_pool& operator=(const frame_pool&) = delete;

    [[nodiscard]] void* take(std::size_t size)
    {
        void* frame = nullptr;
        if (size > largest) {
            frame = ::operator new(size);
        } else {
            if (free_of(size) == nullptr) {
                grow(size);
            }
            block*& first = free_of(size);
            frame = first;
            first = first->next;
        }
        ++in_use_;
        return frame;
    }

    void give(void* frame, std::size_t size) noexcept
    {
        --in_use_;
        if (size > largest) {
            ::operator delete(frame);
        } else {
            push(frame, size);
        }
    }

    [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

private:
    static constexpr std::size_t step = 32;
    static constexpr std::size_t largest = 512;
    static constexpr std::size_t blocks_a_slab = 32;

    struct block {
        block* next;
    };

    [[nodiscard]] static std::size_t steps(std::size_t size) noexcept
    {
        return (size + step - 1) / step;
    }
    [[nodiscard]] block*& free_of(std::size_t size) noexcept { return free_[steps(size) - 1]; }

    void push(void* frame, std::size_t size) noexcept
    {
        block*& first = free_of(size);
        first = ::new (frame) block{first};
    }

    void grow(std::size_t size)
    {
        make_room(slabs_, slabs_.size() + 1);
        const std::size_t each = steps(size) * step;
        slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(blocks_a_slab * each));
        for (std::size_t i = 0; i < blocks_a_slab; ++i) {
            push(slabs_.back().get() + i * each, size);
        }
    }

    std::vector<std::unique_ptr<std::byte[]>> slabs_;
    /// The free blocks, by size in steps.
    std::array<block*, largest / step> free_{};
    std::size_t in_use_ = 0;
};

}  // namespace redlock::core
