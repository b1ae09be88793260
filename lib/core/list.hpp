#pragma once

#include <boost/intrusive/list.hpp>

#include <iterator>

namespace redlock::core {

/// A place in a `list<T, Tag>`; T inherits one for each list that it can be in.
template <class Tag>
using list_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>>;

/// An intrusive list: no allocation, removal from the middle in constant time. Its destructor
/// writes to the elements, so they must outlive it.
template <class T, class Tag>
class list : public boost::intrusive::list<T, boost::intrusive::base_hook<list_hook<Tag>>> {
    using base = boost::intrusive::list<T, boost::intrusive::base_hook<list_hook<Tag>>>;

public:
    /// The element after `item`, or null.
    [[nodiscard]] T* after(T& item) noexcept
    {
        const auto next = std::next(base::iterator_to(item));
        return next == base::end() ? nullptr : &*next;
    }
    /// Inserts `item` directly after `place`, which is in the list.
    void insert_after(T& place, T& item) noexcept
    {
        base::insert(std::next(base::iterator_to(place)), item);
    }
    /// Removes `item`, which is in the list.
    void remove(T& item) noexcept { base::erase(base::iterator_to(item)); }
    /// Removes the first element and returns it, or null.
    [[nodiscard]] T* pop_front() noexcept
    {
        if (base::empty()) {
            return nullptr;
        }
        T& first = base::front();
        base::pop_front();
        return &first;
    }
};

}  // namespace redlock::core
