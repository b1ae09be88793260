#pragma once

#include <memory>

namespace redlock {

/**
 * Identity for code that may take a lock again while it holds it: a reentrant owner. Name it in
 * `acquire_options::reentrant_owner`.
 *
 * An acquire of a reentrant owner first checks whether one lock of the same owner and the same
 * client holds all its resources. If so, the acquire gets a further hold of that lock. The client
 * asks no node for it, unless it has to extend the lock first because too little validity is left.
 *
 * The caller names the owner: the library never derives it from a thread or a coroutine. Each
 * constructed owner is a new identity, and its copies are the same identity. An owner itself holds
 * no lock.
 *
 * Thread safety: as a `std::shared_ptr`.
 */
class reentrant_owner {
public:
    /// Makes a new identity.
    /// @throws std::bad_alloc
    reentrant_owner() : identity_(std::make_shared<char>()) {}

    /// Returns whether both are the same owner, which is true for an owner and its copies.
    [[nodiscard]] friend bool operator==(const reentrant_owner&,
                                         const reentrant_owner&) noexcept = default;

    /// For the library: the identity, which lives as long as any copy of the owner.
    [[nodiscard]] const std::shared_ptr<const char>& identity() const noexcept { return identity_; }

private:
    std::shared_ptr<const char> identity_;
};

}  // namespace redlock
