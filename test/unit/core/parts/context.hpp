#pragma once

#include <redlock/config.hpp>

#include "base/entropy.hpp"
#include "base/settings.hpp"
#include "core/lease.hpp"
#include "core/node/context.hpp"
#include "core/round.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// Has no random bytes, so that `random_below` returns half of its bound.
struct no_entropy final : base::entropy {
    [[nodiscard]] bool fill(std::span<std::byte> /*out*/) noexcept override { return false; }
};

/// The settings, entropy and memory of a client that one part of the core needs.
struct part_context : core::record_owner {
    explicit part_context(config c = {}) : settings(base::make_settings(with_nodes(std::move(c))))
    {}

    void take_back(core::round& /*r*/) noexcept override { ++rounds_taken_back; }
    void take_back(core::lease& /*l*/) noexcept override { ++leases_taken_back; }

    unsigned rounds_taken_back = 0;
    unsigned leases_taken_back = 0;
    base::settings settings;
    no_entropy random;
    core::node_context shared{settings, random, *this};

private:
    static config with_nodes(config c)
    {
        c.nodes = {"redis://a", "redis://b", "redis://c"};
        return c;
    }
};

}  // namespace redlock::test
