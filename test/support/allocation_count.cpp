#include "support/allocation_count.hpp"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local redlock::test::allocations counted;
constinit thread_local unsigned failing_nth = 0;
constinit thread_local unsigned since_failure = 0;
constinit thread_local redlock::test::failing_allocations* failing = nullptr;
constinit thread_local std::string_view looked_for;
constinit thread_local unsigned found_in_freed = 0;

bool fails() noexcept
{
    if (failing != nullptr && failing->next_fails()) {
        return true;
    }
    if (failing_nth == 0 || ++since_failure < failing_nth) {
        return false;
    }
    since_failure = 0;
    return true;
}

void* allocate(std::size_t size) noexcept
{
    ++counted.blocks;
    counted.bytes += size;
    return fails() ? nullptr : std::malloc(size == 0 ? 1 : size);
}

void* allocate(std::size_t size, std::align_val_t alignment) noexcept
{
    ++counted.blocks;
    counted.bytes += size;
    if (fails()) {
        return nullptr;
    }
    const auto align = static_cast<std::size_t>(alignment);
    return ::memalign(align, size);
}

void release(void* block) noexcept
{
    if (block != nullptr && !looked_for.empty()) {
        const std::string_view bytes{static_cast<const char*>(block), ::malloc_usable_size(block)};
        found_in_freed += bytes.find(looked_for) != bytes.npos;
    }
    std::free(block);
}

void* or_throw(void* block)
{
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    return block;
}

}  // namespace

namespace redlock::test {

allocations allocated_here() noexcept
{
    return counted;
}

scarce_memory::scarce_memory(unsigned nth) noexcept
{
    failing_nth = nth;
}

scarce_memory::~scarce_memory()
{
    failing_nth = 0;
}

failing_allocations::in::in(failing_allocations& which) noexcept
{
    failing = &which;
}

failing_allocations::in::~in()
{
    failing = nullptr;
}

bool failing_allocations::next_fails() noexcept
{
    if (left_before_ > 0) {
        --left_before_;
        return false;
    }
    if (left_ == 0) {
        return false;
    }
    --left_;
    ++failed_;
    return true;
}

freed_with::freed_with(std::string_view text) noexcept
{
    looked_for = text;
    found_in_freed = 0;
}

freed_with::~freed_with()
{
    looked_for = {};
}

unsigned freed_with::blocks() const noexcept
{
    return found_in_freed;
}

}  // namespace redlock::test

/// Asio stores its handlers in memory of this function.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
    return fails() ? nullptr : ::memalign(alignment, size);
}

// All forms are replaced, because a sanitizer's own forms must not meet these.

void* operator new(std::size_t size)
{
    return or_throw(allocate(size));
}

void* operator new[](std::size_t size)
{
    return or_throw(allocate(size));
}

void* operator new(std::size_t size, std::align_val_t alignment)
{
    return or_throw(allocate(size, alignment));
}

void* operator new[](std::size_t size, std::align_val_t alignment)
{
    return or_throw(allocate(size, alignment));
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept
{
    return allocate(size);
}

void* operator new[](std::size_t size, const std::nothrow_t&) noexcept
{
    return allocate(size);
}

void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    return allocate(size, alignment);
}

void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    return allocate(size, alignment);
}

void operator delete(void* block) noexcept
{
    release(block);
}

void operator delete[](void* block) noexcept
{
    release(block);
}

void operator delete(void* block, std::size_t) noexcept
{
    release(block);
}

void operator delete[](void* block, std::size_t) noexcept
{
    release(block);
}

void operator delete(void* block, std::align_val_t) noexcept
{
    release(block);
}

void operator delete[](void* block, std::align_val_t) noexcept
{
    release(block);
}

void operator delete(void* block, std::size_t, std::align_val_t) noexcept
{
    release(block);
}

void operator delete[](void* block, std::size_t, std::align_val_t) noexcept
{
    release(block);
}

void operator delete(void* block, const std::nothrow_t&) noexcept
{
    release(block);
}

void operator delete[](void* block, const std::nothrow_t&) noexcept
{
    release(block);
}

void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept
{
    release(block);
}

void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept
{
    release(block);
}
