#pragma once

#include "base/entropy.hpp"

namespace redlock::base {

/**
 * The kernel's random generator. Each call asks the kernel, so there is no state that a fork could
 * copy.
 *
 * One object serves any number of threads.
 */
class system_entropy final : public entropy {
public:
    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override;
};

}  // namespace redlock::base
