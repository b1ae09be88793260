#include <redlock/lock.hpp>

#include "core/lease.hpp"
#include "engine/driver.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace redlock {

boot_clock::time_point lock::valid_until() const noexcept
{
    const core::lease* l = held_.get();
    return l == nullptr ? boot_clock::time_point{}
                        : boot_clock::time_point{l->root().valid_until().time_since_epoch()};
}

std::string_view lock::resource() const noexcept
{
    const core::lease* l = held_.get();
    return l == nullptr ? std::string_view{} : std::string_view{l->resource};
}

std::span<const std::string> lock::resources() const noexcept
{
    const core::lease* l = held_.get();
    return l == nullptr ? std::span<const std::string>{} : l->resources();
}

std::string_view lock::owner_token() const noexcept
{
    const core::lease* l = held_.get();
    return l == nullptr ? std::string_view{} : l->token.view();
}

std::uint64_t lock::fencing_token() const noexcept
{
    const core::lease* l = held_.get();
    return l == nullptr ? 0 : l->root().fencing_token;
}

std::uint64_t lock::fencing_token(std::string_view resource) const noexcept
{
    const auto names = resources();
    return std::ranges::find(names, resource) == names.end() ? 0 : fencing_token();
}

unsigned lock::granted_by() const noexcept
{
    const core::lease* l = held_.get();
    return l == nullptr ? 0u
                        : static_cast<unsigned>(
                              std::popcount(l->root().granted.load(std::memory_order_relaxed)));
}

std::string lock::detach() &&
{
    std::string token{owner_token()};
    const auto d = held_.driver();
    if (!d) {
        return token;
    }
    core::lease& l = *held_.release();
    // Set at once, because another process may adopt the lock as soon as it gets the token.
    const bool was_left = l.root().is_detached.exchange(true);
    l.root().set_valid_until({});
    d->detach(l);
    return was_left ? std::string() : std::move(token);
}

void detail::held_lease::drop() noexcept
{
    const auto d = std::move(driver_);
    d->drop(*std::exchange(lease_, nullptr));
}

}  // namespace redlock
