#pragma once

#include <redlock/config.hpp>
#include <redlock/reentrant_owner.hpp>

#include <optional>
#include <string>

namespace redlock::base {

/// The options of an acquire together with what they point to, for one that begins later.
class kept_options {
public:
    /// @throws std::bad_alloc
    explicit kept_options(const acquire_options& o) : options_(o), label_(o.label)
    {
        if (o.reentrant_owner != nullptr) {
            owner_ = *o.reentrant_owner;
        }
    }

    /// Points into this object, which must outlive it.
    [[nodiscard]] acquire_options options() const noexcept
    {
        acquire_options o = options_;
        o.reentrant_owner = owner_ ? &*owner_ : nullptr;
        o.label = label_;
        return o;
    }

private:
    acquire_options options_;
    std::optional<redlock::reentrant_owner> owner_;
    std::string label_;
};

}  // namespace redlock::base
