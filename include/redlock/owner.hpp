#pragma once

#include <memory>

namespace redlock {

/**
 * On whose behalf a lock is taken, for code that may take it again while it has it: an acquire with
 * `acquire_options::owner` that finds the resource, or all of several, held by a lock of the same
 * owner and the same client is given a further hold of that lock, without asking a node. Never by
 * thread or coroutine: who is meant is said.
 *
 * Each owner that is constructed is another one; copies are the same. It holds nothing itself.
 *
 * Thread safety: as a `std::shared_ptr`.
 */
class owner {
public:
    /// @throws std::bad_alloc
    owner() : identity_(std::make_shared<char>()) {}

    /// Whether both are the same owner: one and its copies.
    [[nodiscard]] friend bool operator==(const owner&, const owner&) noexcept = default;

    /// For the library: lives as long as any copy.
    [[nodiscard]] const std::shared_ptr<const char>& identity() const noexcept { return identity_; }

private:
    std::shared_ptr<const char> identity_;
};

}  // namespace redlock
