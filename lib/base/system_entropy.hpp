#pragma once

#include "base/entropy.hpp"

namespace redlock::base {

/**
 * The kernel's generator, asked anew at every call: nothing is kept that a fork could copy.
 *
 * Without state, so one object serves any number of threads.
 */
class system_entropy final : public entropy {
public:
    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override;
};

}  // namespace redlock::base
