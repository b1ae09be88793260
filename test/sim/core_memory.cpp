#include "sim/core_memory.hpp"

#include "support/sanitizers.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr unsigned nobody = 0;
/// The largest number of clients in a plan.
constexpr unsigned most_clients = 6;

constinit thread_local unsigned present = nobody;
constinit thread_local std::array<std::int64_t, most_clients + 1> live{};

#if !REDLOCK_TEST_SANITIZED
/// Precedes each block.
struct alignas(std::max_align_t) owner {
    std::size_t bytes;
    unsigned who;
};
#endif

}  // namespace

namespace redlock::sim {

memory_of_cores::in::in(unsigned client) noexcept : before_(std::exchange(present, client + 1))
{
    assert(client < most_clients);
}

memory_of_cores::in::~in()
{
    present = before_;
}

std::int64_t memory_of_cores::of(unsigned client) noexcept
{
    return live.at(client + 1);
}

}  // namespace redlock::sim

#if !REDLOCK_TEST_SANITIZED
// The other forms without alignment call these.

void* operator new(std::size_t size)
{
    void* const block = std::malloc(sizeof(owner) + size);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    auto* const front = ::new (block) owner{size, present};
    live[front->who] += static_cast<std::int64_t>(size);
    return front + 1;
}

void operator delete(void* block) noexcept
{
    if (block == nullptr) {
        return;
    }
    owner* const front = static_cast<owner*>(block) - 1;
    live[front->who] -= static_cast<std::int64_t>(front->bytes);
    std::free(front);
}

void operator delete(void* block, std::size_t) noexcept
{
    operator delete(block);
}
#endif
