#include "load/usage.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

// Every form is replaced, so that no sanitizer's own form is left, which would not know the
// pointers that free() gets.

namespace {

// Alone on its line; only counted, nothing is ordered by it.
alignas(64) constinit std::atomic<std::uint64_t> count{0};

void* try_allocate(std::size_t size) noexcept
{
    count.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(size == 0 ? 1 : size);
}

void* try_allocate(std::size_t size, std::align_val_t align) noexcept
{
    count.fetch_add(1, std::memory_order_relaxed);
    const auto unit = static_cast<std::size_t>(align);
    return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

void* or_throw(void* block)
{
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    return block;
}

}  // namespace

namespace redlock::bench {

std::uint64_t allocations() noexcept
{
    return count.load(std::memory_order_relaxed);
}

}  // namespace redlock::bench

// clang-format off
void* operator new(std::size_t n) { return or_throw(try_allocate(n)); }
void* operator new[](std::size_t n) { return or_throw(try_allocate(n)); }
void* operator new(std::size_t n, std::align_val_t a) { return or_throw(try_allocate(n, a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return or_throw(try_allocate(n, a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return try_allocate(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return try_allocate(n); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept
{ return try_allocate(n, a); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept
{ return try_allocate(n, a); }

void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
// clang-format on
