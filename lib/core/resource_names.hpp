#pragma once

#include "core/lease.hpp"

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

/// One resource, or several that are locked as one. Owns a list of names, and not a single name.
class resource_names {
public:
    resource_names(std::string_view one) noexcept : first_(one) {}
    resource_names(const std::string& one) noexcept : first_(one) {}
    resource_names(const char* one) noexcept : first_(one) {}
    /// `list` is not null.
    resource_names(group list) noexcept
        : first_(list->empty() ? std::string_view{} : list->front()),
          list_(std::move(list))
    {}

    /// The first name of a list that is not empty, or the only one.
    [[nodiscard]] std::string_view first() const noexcept { return first_; }
    /// Null: one name was given alone.
    [[nodiscard]] const group& list() const noexcept { return list_; }
    /// Null: there is one name.
    [[nodiscard]] group several() const noexcept
    {
        return list_ && list_->size() > 1 ? list_ : nullptr;
    }

private:
    std::string_view first_;
    group list_;
};

/// A copy that also owns a single name.
class kept_names {
public:
    /// @throws std::bad_alloc
    explicit kept_names(const resource_names& names) : list_(names.list())
    {
        if (!list_) {
            one_ = names.first();
        }
    }

    /// Points into this object.
    [[nodiscard]] resource_names names() const noexcept
    {
        return list_ ? resource_names(list_) : resource_names(one_);
    }

private:
    std::string one_;
    group list_;
};

}  // namespace redlock::core
