#include "core/operations/operation_coroutine.hpp"

#include "core/operations/coroutines.hpp"

#include <boost/system/errc.hpp>

#include <cstddef>
#include <new>

namespace redlock::core {

void* operation_coroutine::promise_type::operator new(std::size_t size, operation_context& c,
                                                      operation&)
{
    // The pointer to the pool precedes the frame, because deallocation gets no further arguments.
    void* block = c.frames.take(size + alignof(std::max_align_t));
    ::new (block) frame_pool*(&c.frames);
    return static_cast<std::byte*>(block) + alignof(std::max_align_t);
}

void operation_coroutine::promise_type::operator delete(void* frame, std::size_t size) noexcept
{
    void* block = static_cast<std::byte*>(frame) - alignof(std::max_align_t);
    (*static_cast<frame_pool**>(block))->give(block, size + alignof(std::max_align_t));
}

void operation_coroutine::promise_type::unhandled_exception() noexcept
{
    if (op.what == operation::kind::renew) {
        fail_renewal(context, op);
        return;
    }
    const bool may_leave_keys =
        op.what == operation::kind::acquire || op.what == operation::kind::release;
    if (may_leave_keys) {
        context.leases.release(*op.subject);
    }
    context.finish(op, make_error_code(boost::system::errc::not_enough_memory));
}

}  // namespace redlock::core
