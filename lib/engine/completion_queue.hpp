#pragma once

#include <redlock/detail/completion.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace redlock::engine {

/// A handler that is destroyed uncalled unless it is released.
struct abandon {
    void operator()(detail::completion* c) const noexcept { c->abandon(); }
};
using completion_ptr = std::unique_ptr<detail::completion, abandon>;

/// Handlers in a row, each with the error it is to be told. Linked through the handlers themselves,
/// so that none is ever lost for want of memory.
class completion_queue {
public:
    completion_queue() = default;
    completion_queue(const completion_queue&) = delete;
    completion_queue& operator=(const completion_queue&) = delete;
    ~completion_queue() { clear(); }

    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    void push(completion_ptr c, error_code ec) noexcept
    {
        detail::completion* last = c.release();
        last->next = nullptr;
        last->decided = ec;
        (first_ == nullptr ? first_ : last_->next) = last;
        last_ = last;
        ++size_;
    }

    [[nodiscard]] completion_ptr pop() noexcept
    {
        detail::completion* c = first_;
        first_ = c->next;
        --size_;
        return completion_ptr(c);
    }

    void clear() noexcept
    {
        while (!empty()) {
            pop().reset();
        }
    }

private:
    detail::completion* first_ = nullptr;
    detail::completion* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace redlock::engine
