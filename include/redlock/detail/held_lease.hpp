#pragma once

#include <redlock/detail/export.hpp>

#include <memory>
#include <utility>

namespace redlock {

namespace core {
struct lease;
}
namespace engine {
class driver;
}

namespace detail {

struct operations;

/// Owning reference to a lease: the content of a `lock`. Its destructor releases the lease.
class held_lease {
public:
    held_lease() noexcept = default;
    held_lease(std::shared_ptr<engine::driver> d, core::lease& l) noexcept
        : driver_(std::move(d)),
          lease_(&l)
    {}
    held_lease(held_lease&& other) noexcept
        : driver_(std::move(other.driver_)),
          lease_(std::exchange(other.lease_, nullptr))
    {}
    held_lease& operator=(held_lease&& other) noexcept
    {
        if (this != &other) {
            give_back();
            driver_ = std::move(other.driver_);
            lease_ = std::exchange(other.lease_, nullptr);
        }
        return *this;
    }
    held_lease(const held_lease&) = delete;
    held_lease& operator=(const held_lease&) = delete;
    ~held_lease() { give_back(); }

    [[nodiscard]] core::lease* get() const noexcept { return lease_; }
    [[nodiscard]] const std::shared_ptr<engine::driver>& driver() const noexcept { return driver_; }

    /// Takes the lease out. From then on the caller must see to its release.
    [[nodiscard]] core::lease* release() noexcept
    {
        driver_.reset();
        return std::exchange(lease_, nullptr);
    }

private:
    void give_back() noexcept
    {
        if (lease_ != nullptr) {
            drop();
        }
    }

    REDLOCK_API void drop() noexcept;

    std::shared_ptr<engine::driver> driver_;
    core::lease* lease_ = nullptr;
};

}  // namespace detail
}  // namespace redlock
