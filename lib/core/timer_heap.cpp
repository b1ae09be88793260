#include "core/timer_heap.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::core {

void timer_heap::reserve(std::size_t count)
{
    if (count > heap_.capacity()) {
        heap_.reserve(std::max(count, heap_.capacity() * 2));
    }
}

void timer_heap::set(sleeper& s, base::instant when)
{
    if (s.heap_place == sleeper::no_wake_up) {
        heap_.push_back(&s);
        s.heap_place = heap_.size() - 1;
    }
    assert(heap_[s.heap_place] == &s);
    s.wake_up = when;
    sift_up(s.heap_place);
    sift_down(s.heap_place);
}

void timer_heap::remove(sleeper& s) noexcept
{
    const std::size_t at = s.heap_place;
    if (at == sleeper::no_wake_up) {
        return;
    }
    assert(heap_[at] == &s);
    s.heap_place = sleeper::no_wake_up;
    sleeper* last = heap_.back();
    heap_.pop_back();
    if (last == &s) {
        return;
    }
    place(*last, at);
    sift_up(at);
    sift_down(last->heap_place);
}

void timer_heap::place(sleeper& s, std::size_t at) noexcept
{
    heap_[at] = &s;
    s.heap_place = at;
}

void timer_heap::sift_up(std::size_t at) noexcept
{
    sleeper& s = *heap_[at];
    while (at > 0) {
        const std::size_t parent = (at - 1) / 2;
        if (heap_[parent]->wake_up <= s.wake_up) {
            break;
        }
        place(*heap_[parent], at);
        at = parent;
    }
    place(s, at);
}

void timer_heap::sift_down(std::size_t at) noexcept
{
    sleeper& s = *heap_[at];
    for (;;) {
        std::size_t child = 2 * at + 1;
        if (child >= heap_.size()) {
            break;
        }
        if (child + 1 < heap_.size() && heap_[child + 1]->wake_up < heap_[child]->wake_up) {
            ++child;
        }
        if (s.wake_up <= heap_[child]->wake_up) {
            break;
        }
        place(*heap_[child], at);
        at = child;
    }
    place(s, at);
}

}  // namespace redlock::core
