#pragma once

#include "core/pool.hpp"

#include <coroutine>
#include <cstddef>

namespace redlock::core {

class coordinator;
struct operation;

/**
 * The coroutine of one operation. It runs at once until its first wait, is resumed by the
 * coordinator's own queue, and destroys itself at its end; its frame comes from the coordinator's
 * pool.
 */
struct flow {
    struct promise_type {
        promise_type(coordinator& c, operation& o) noexcept : owner(c), op(o) {}

        static void* operator new(std::size_t size, coordinator& c, operation&);
        static void operator delete(void* frame, std::size_t size) noexcept;

        [[nodiscard]] flow get_return_object() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        /// Memory ran out: the operation fails with that, the client goes on.
        void unhandled_exception() noexcept;

        coordinator& owner;
        operation& op;
    };
};

}  // namespace redlock::core
