#pragma once

#include <cassert>
#include <cstddef>

namespace redlock::core {

/// A place in a `list<T, Tag>`; T inherits one for each list it can stand in.
template <class Tag>
struct list_hook {
    list_hook* next = nullptr;
    list_hook* previous = nullptr;

    [[nodiscard]] bool is_linked() const noexcept { return next != nullptr; }
};

/// An intrusive doubly linked list: no allocation, removal from the middle in constant time.
template <class T, class Tag>
class list {
public:
    using hook = list_hook<Tag>;

    list() noexcept { clear(); }
    list(const list&) = delete;
    list& operator=(const list&) = delete;

    [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] T& front() noexcept
    {
        assert(!empty());
        return static_cast<T&>(*head_.next);
    }
    [[nodiscard]] const T& front() const noexcept
    {
        assert(!empty());
        return static_cast<const T&>(*head_.next);
    }

    /// The element behind `item`, or null.
    [[nodiscard]] T* after(T& item) noexcept
    {
        hook* n = static_cast<hook&>(item).next;
        return n == &head_ ? nullptr : static_cast<T*>(n);
    }

    void push_back(T& item) noexcept
    {
        hook& h = item;
        assert(!h.is_linked());
        h.previous = head_.previous;
        h.next = &head_;
        head_.previous->next = &h;
        head_.previous = &h;
        ++size_;
    }

    void push_front(T& item) noexcept
    {
        hook& h = item;
        assert(!h.is_linked());
        h.previous = &head_;
        h.next = head_.next;
        head_.next->previous = &h;
        head_.next = &h;
        ++size_;
    }

    void insert_after(T& place, T& item) noexcept
    {
        hook& p = place;
        hook& h = item;
        assert(p.is_linked() && !h.is_linked());
        h.previous = &p;
        h.next = p.next;
        p.next->previous = &h;
        p.next = &h;
        ++size_;
    }

    void remove(T& item) noexcept
    {
        hook& h = item;
        assert(h.is_linked() && size_ > 0);
        h.previous->next = h.next;
        h.next->previous = h.previous;
        h.next = nullptr;
        h.previous = nullptr;
        --size_;
    }

    [[nodiscard]] T* pop_front() noexcept
    {
        if (empty()) {
            return nullptr;
        }
        T& item = front();
        remove(item);
        return &item;
    }

private:
    void clear() noexcept
    {
        head_.next = &head_;
        head_.previous = &head_;
        size_ = 0;
    }

    hook head_;
    std::size_t size_ = 0;
};

}  // namespace redlock::core
