#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace redlock::core {

/**
 * Records that are used over and over. A record stays constructed while it waits for its next use,
 * so that the memory its members own serves again; whoever takes one sets every field.
 */
template <class T>
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
        free_.push_back(&record);  // cannot throw: grow() made room for every record there is
    }

    [[nodiscard]] std::size_t in_use() const noexcept { return total_ - free_.size(); }

private:
    static constexpr std::size_t records_a_block = 32;

    void grow()
    {
        free_.reserve(total_ + records_a_block);
        blocks_.reserve(blocks_.size() + 1);
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

/// Blocks of one size for coroutine frames. A frame that is larger comes from the heap.
class frame_pool {
public:
    frame_pool() = default;
    frame_pool(const frame_pool&) = delete;
    frame_pool& operator=(const frame_pool&) = delete;

    [[nodiscard]] void* take(std::size_t size)
    {
        if (size > block_size) {
            void* const frame = ::operator new(size);
            ++in_use_;
            return frame;
        }
        if (free_ == nullptr) {
            grow();
        }
        ++in_use_;
        return std::exchange(free_, free_->next);
    }

    void give(void* frame, std::size_t size) noexcept
    {
        --in_use_;
        if (size > block_size) {
            ::operator delete(frame);
        } else {
            push(*static_cast<block*>(frame));
        }
    }

    [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

private:
    static constexpr std::size_t block_size = 512;
    static constexpr std::size_t blocks_a_slab = 32;

    union block {
        block* next;
        alignas(std::max_align_t) std::byte bytes[block_size];
    };

    void push(block& b) noexcept
    {
        b.next = free_;
        free_ = &b;
    }

    void grow()
    {
        slabs_.reserve(slabs_.size() + 1);
        slabs_.push_back(std::make_unique_for_overwrite<block[]>(blocks_a_slab));
        for (std::size_t i = 0; i < blocks_a_slab; ++i) {
            push(slabs_.back()[i]);
        }
    }

    std::vector<std::unique_ptr<block[]>> slabs_;
    block* free_ = nullptr;
    std::size_t in_use_ = 0;
};

}  // namespace redlock::core
