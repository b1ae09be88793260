#pragma once

#include <redlock/detail/export.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {

/// A type of names, which can be read without a change.
template <class Name>
concept name_like = std::is_convertible_v<const Name&, std::string_view>;

template <class Name>
inline constexpr bool is_read_quietly =
    std::is_nothrow_convertible_v<const Name&, std::string_view>;

}  // namespace detail

/**
 * The resource of a lock, or the several resources of one lock. Made from a name, or from a list of
 * names: `"order:42"`, `{"from", "to"}`, a `std::vector<std::string>`.
 *
 * An object made from a name refers to that name, as a `std::string_view` does. An object made from
 * a list owns the names, and its copies share them. A list of one name is the same as the name. To
 * keep a single name, use `owned`, or a list of one name in braces.
 */
class resource_names {
public:
    /// Names that several objects share.
    using list_ptr = std::shared_ptr<const std::vector<std::string>>;

    /// Refers to `one`, which must outlive this object and its copies.
    template <detail::name_like Name>
    resource_names(const Name& one) noexcept(detail::is_read_quietly<Name>) : first_(one)
    {}
    /// Owns `names`.
    /// @throws std::bad_alloc
    REDLOCK_API resource_names(std::vector<std::string> names);
    /// Owns copies of `names`.
    /// @throws std::bad_alloc
    REDLOCK_API resource_names(std::initializer_list<std::string_view> names);
    /// Shares `names`, which is not null.
    resource_names(list_ptr names) noexcept
        : first_(names->empty() ? std::string_view{} : names->front()),
          list_(std::move(names))
    {}

    /// Refers to the same name, or shares the list.
    resource_names(const resource_names&) = default;
    /// Refers to the same name, or shares the list.
    resource_names& operator=(const resource_names&) = default;
    /// Leaves an empty name in `other`.
    resource_names(resource_names&& other) noexcept
        : first_(std::exchange(other.first_, {})),
          list_(std::move(other.list_))
    {}
    /// Leaves an empty name in `other`.
    resource_names& operator=(resource_names&& other) noexcept
    {
        first_ = std::exchange(other.first_, {});
        list_ = std::move(other.list_);
        return *this;
    }
    ~resource_names() = default;

    /// The name, or the first name of the list; empty if the list is empty.
    [[nodiscard]] std::string_view first() const noexcept { return first_; }
    /// The list. Null if the object refers to a name.
    [[nodiscard]] const list_ptr& list() const noexcept { return list_; }
    /// The list, if it has several names; else null.
    [[nodiscard]] list_ptr several() const noexcept
    {
        return list_ && list_->size() > 1 ? list_ : nullptr;
    }
    /// The same names in an object that owns them.
    /// @throws std::bad_alloc
    [[nodiscard]] REDLOCK_API resource_names owned() const;

private:
    std::string_view first_;
    list_ptr list_;
};

}  // namespace redlock
