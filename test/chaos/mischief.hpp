#pragma once

#include "chaos/dice.hpp"
#include "chaos/fault.hpp"
#include "chaos/fleet.hpp"
#include "chaos/probe.hpp"
#include "chaos/site.hpp"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace redlock::chaos {

/**
 * Does the faults, each at its own rate by the dice, to victims by the dice.
 *
 * A master has one fault at a time. Afterwards it counts as impaired until the probe has its
 * answers and it has a vote again with every client that goes; of all masters at most so many are
 * impaired at a time.
 */
class mischief {
public:
    mischief(std::vector<fault> faults, std::vector<std::unique_ptr<site>>& sites, fleet& clients,
             const probe& reference, dice& chance, unsigned most_impaired, double pace);

    /// Ends what has lasted, and begins what is due.
    void turn();

    /// From now on begins only what was never done, once each, so that little is left to wait for.
    void catch_up() noexcept { catching_up_ = true; }

    /// Ends everything and begins nothing any more. Masters may still have to come up. Their dates
    /// meet again, as they have to for a new fencing counter.
    void heal();

    /// Masters that have a fault, or have not recovered from it.
    [[nodiscard]] unsigned impaired() const;

    /// What is in force, in a few words.
    [[nodiscard]] std::string in_force() const;

    /// Kinds that were not done once.
    [[nodiscard]] std::vector<std::string> never_done() const;

    /// What was done how often, and for how long in all.
    void print(std::ostream& out) const;

private:
    struct kind {
        fault what;
        nanos due = 0;
        std::uint64_t times = 0;
        nanos time = 0;
    };
    struct suffering {
        kind* from = nullptr;
        nanos since = 0;
        nanos until = 0;
        nanos relieved = 0;  ///< 0: not yet
    };

    void relieve(suffering& who, unsigned index);
    void bring_dates_together();
    void look_after_masters();
    void look_after_clients();
    void begin(kind& what);
    [[nodiscard]] std::vector<unsigned> victims(victim of) const;

    std::vector<kind> kinds_;
    std::vector<std::unique_ptr<site>>& sites_;
    fleet& clients_;
    const probe& reference_;
    dice& chance_;
    unsigned most_impaired_;
    std::vector<suffering> masters_;
    std::vector<suffering> processes_;
    bool catching_up_ = false;
    bool healing_ = false;
};

}  // namespace redlock::chaos
