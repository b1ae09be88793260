#pragma once

#include <redlock/config.hpp>
#include <redlock/reentrant_owner.hpp>

#include <optional>
#include <string>

namespace redlock::base {

/// The options of an acquire and copies of the texts that they point to, for an acquire that starts
/// later.
class kept_options {
public:
    /// Copies the options.
    /// @throws std::bad_alloc
    explicit kept_options(const acquire_options& o) : options_(o), label_(o.label)
    {
        if (o.reentrant_owner != nullptr) {
            owner_ = *o.reentrant_owner;
        }
    }

    /// The options. They point into this object, which must outlive them.
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
