#pragma once

#include "load/figures.hpp"
#include "load/result.hpp"

#include <redlock/stats.hpp>

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <span>

namespace redlock::bench {

/// A result with the data that only this program knows of a run.
struct measurement {
    result common;
    figures more;
    stats before{};  ///< the client's
    stats after{};
};

/// The keys of `result`, and others.
void to_json(nlohmann::json& to, const measurement& from);

void print(std::ostream& out, std::span<const measurement> all);

}  // namespace redlock::bench
