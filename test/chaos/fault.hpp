#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace redlock::chaos {

/// The target of a fault.
enum class victim {
    master,  ///< a node without any other fault, in itself or in its network
    clock,   ///< a node's clock, whatever other fault the node has
    client,  ///< one process
};

/// A kind of fault.
struct fault {
    std::string name;
    victim of = victim::master;
    double per_minute = 0;
    /// How long it lasts. Zero for a fault that is over at once.
    std::chrono::milliseconds shortest{0};
    std::chrono::milliseconds longest{0};
    /// Begins the fault on this node or seat for this time. False: not now.
    std::function<bool(unsigned which, std::chrono::milliseconds time)> begin;
    std::function<void(unsigned which)> end;
};

}  // namespace redlock::chaos
