#include "core/wake_ups.hpp"

#include <cassert>

namespace redlock::core {

void wake_ups::add(operation& op, base::instant when)
{
    assert(op.heap_place == operation::no_wake_up);
    heap_.push_back(&op);
    op.wake_up = when;
    op.heap_place = heap_.size() - 1;
    sift_up(op.heap_place);
}

void wake_ups::remove(operation& op) noexcept
{
    const std::size_t at = op.heap_place;
    if (at == operation::no_wake_up) {
        return;
    }
    assert(heap_[at] == &op);
    op.heap_place = operation::no_wake_up;
    operation* last = heap_.back();
    heap_.pop_back();
    if (last == &op) {
        return;
    }
    place(*last, at);
    sift_up(at);
    sift_down(last->heap_place);
}

operation* wake_ups::pop_due(base::instant now) noexcept
{
    if (heap_.empty() || heap_.front()->wake_up > now) {
        return nullptr;
    }
    operation* op = heap_.front();
    remove(*op);
    return op;
}

void wake_ups::place(operation& op, std::size_t at) noexcept
{
    heap_[at] = &op;
    op.heap_place = at;
}

void wake_ups::sift_up(std::size_t at) noexcept
{
    operation& op = *heap_[at];
    while (at > 0) {
        const std::size_t parent = (at - 1) / 2;
        if (heap_[parent]->wake_up <= op.wake_up) {
            break;
        }
        place(*heap_[parent], at);
        at = parent;
    }
    place(op, at);
}

void wake_ups::sift_down(std::size_t at) noexcept
{
    operation& op = *heap_[at];
    for (;;) {
        std::size_t child = 2 * at + 1;
        if (child >= heap_.size()) {
            break;
        }
        if (child + 1 < heap_.size() && heap_[child + 1]->wake_up < heap_[child]->wake_up) {
            ++child;
        }
        if (op.wake_up <= heap_[child]->wake_up) {
            break;
        }
        place(*heap_[child], at);
        at = child;
    }
    place(op, at);
}

}  // namespace redlock::core
