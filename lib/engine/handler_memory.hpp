#pragma once

#include <atomic>
#include <cstddef>
#include <new>

namespace redlock::engine {

/// A block of memory that is reused for the handler of an operation, one operation at a time. The
/// client's thread takes it; any thread of the context may return it when the operation ends.
class handler_memory {
public:
    handler_memory() = default;
    handler_memory(const handler_memory&) = delete;
    handler_memory& operator=(const handler_memory&) = delete;

    [[nodiscard]] void* take(std::size_t size)
    {
        if (size > sizeof(block_) || in_use_.load(std::memory_order_acquire)) {
            return ::operator new(size);
        }
        in_use_.store(true, std::memory_order_relaxed);
        return block_;
    }

    void give(void* memory) noexcept
    {
        if (memory == block_) {
            in_use_.store(false, std::memory_order_release);
        } else {
            ::operator delete(memory);
        }
    }

private:
    alignas(std::max_align_t) std::byte block_[512];
    std::atomic<bool> in_use_ = false;
};

/// An allocator for handlers that uses the `handler_memory` of the handler's owner. The handler
/// must keep its owner alive.
template <class T>
class handler_allocator {
public:
    using value_type = T;

    explicit handler_allocator(handler_memory& m) noexcept : memory_(&m) {}
    template <class U>
    handler_allocator(const handler_allocator<U>& other) noexcept : memory_(other.memory_)
    {}

    [[nodiscard]] T* allocate(std::size_t n)
    {
        return static_cast<T*>(memory_->take(n * sizeof(T)));
    }
    void deallocate(T* p, std::size_t) noexcept { memory_->give(p); }

    template <class U>
    [[nodiscard]] bool operator==(const handler_allocator<U>& other) const noexcept
    {
        return memory_ == other.memory_;
    }

private:
    template <class>
    friend class handler_allocator;

    handler_memory* memory_;
};

}  // namespace redlock::engine
