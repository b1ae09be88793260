#pragma once

#include "core/pool.hpp"

#include <coroutine>
#include <cstddef>

namespace redlock::core {

struct operation_context;
struct operation;

/**
 * The coroutine of one operation. It runs at once until its first wait, is resumed by
 * `operation_context::run`, and destroys itself at its end. Its frame comes from the pool of the
 * context.
 */
struct operation_coroutine {
    struct promise_type {
        promise_type(operation_context& c, operation& o) noexcept : context(c), op(o) {}

        static void* operator new(std::size_t size, operation_context& c, operation&);
        static void operator delete(void* frame, std::size_t size) noexcept;

        [[nodiscard]] operation_coroutine get_return_object() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        /// Memory ran out: the operation fails with that error, and the client goes on.
        void unhandled_exception() noexcept;

        operation_context& context;
        operation& op;
    };
};

}  // namespace redlock::core
