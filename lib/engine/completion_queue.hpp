#pragma once

#include <redlock/detail/completion.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace redlock::engine {

/// Owns a handler. Unless released, the handler is destroyed without a call.
struct abandon {
    void operator()(detail::completion* c) const noexcept { c->abandon(); }
};
using completion_ptr = std::unique_ptr<detail::completion, abandon>;

/// A queue of handlers, each with the error for its call. The handlers link to each other, so that
/// a push needs no memory and can't fail.
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
