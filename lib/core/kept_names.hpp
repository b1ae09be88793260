#pragma once

#include <redlock/resource_names.hpp>

#include <string>

namespace redlock::core {

/// A copy of names that also owns a single one, without an allocation if it is short.
class kept_names {
public:
    /// @throws std::bad_alloc
    explicit kept_names(const resource_names& names) : list_(names.list())
    {
        if (!list_) {
            one_ = names.first();
        }
    }

    /// Refers to this object.
    [[nodiscard]] resource_names names() const noexcept
    {
        return list_ ? resource_names(list_) : resource_names(one_);
    }

private:
    std::string one_;
    resource_names::list_ptr list_;
};

}  // namespace redlock::core
