#pragma once

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/client_core.hpp"
#include "sim/contention/play.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/random.hpp"

#include <cstdint>

namespace redlock::contention {

/// The settings of a client in this play.
[[nodiscard]] base::settings settings_of(const plan& p, bool has_notifications);

/// A client, and the next instant at which its core has something to do.
struct contender {
    contender(const base::settings& s, std::uint64_t seed, const base::instant& now)
        : random(seed, 7),
          date(now),
          core(s, random, date)
    {}

    test::seeded_entropy random;
    test::virtual_date date;
    core::client_core core;
    base::instant timer = base::instant::max();
};

}  // namespace redlock::contention
