#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace redlock::chaos {

/// Who suffers a fault.
enum class victim {
    master,  ///< one that nothing else is wrong with: it, or the network in front of it
    clock,   ///< a master's clock, whatever else is wrong with the master
    client,  ///< one process
};

/// One way in which things go wrong.
struct fault {
    std::string name;
    victim of = victim::master;
    double per_minute = 0;
    /// How long it is in force. Zero for what has happened when it has begun.
    std::chrono::milliseconds shortest{0};
    std::chrono::milliseconds longest{0};
    /// To this master or seat, for so long. False: not now.
    std::function<bool(unsigned which, std::chrono::milliseconds time)> begin;
    std::function<void(unsigned which)> end;
};

}  // namespace redlock::chaos
