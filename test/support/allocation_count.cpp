#include "support/allocation_count.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local redlock::test::allocations counted;
constinit thread_local unsigned failing_nth = 0;
constinit thread_local unsigned since_failure = 0;

bool fails() noexcept
{
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
    // aligned_alloc wants a multiple of the alignment.
    return std::aligned_alloc(align, (size + align) / align * align);
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

}  // namespace redlock::test

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
    std::free(block);
}

void operator delete[](void* block) noexcept
{
    std::free(block);
}

void operator delete(void* block, std::size_t) noexcept
{
    std::free(block);
}

void operator delete[](void* block, std::size_t) noexcept
{
    std::free(block);
}

void operator delete(void* block, std::align_val_t) noexcept
{
    std::free(block);
}

void operator delete[](void* block, std::align_val_t) noexcept
{
    std::free(block);
}

void operator delete(void* block, std::size_t, std::align_val_t) noexcept
{
    std::free(block);
}

void operator delete[](void* block, std::size_t, std::align_val_t) noexcept
{
    std::free(block);
}

void operator delete(void* block, const std::nothrow_t&) noexcept
{
    std::free(block);
}

void operator delete[](void* block, const std::nothrow_t&) noexcept
{
    std::free(block);
}

void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept
{
    std::free(block);
}

void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept
{
    std::free(block);
}
