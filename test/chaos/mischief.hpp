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
 * Does the faults, each at its own random rate, to random victims.
 *
 * A node has one fault at a time. Afterwards it counts as impaired until it answers the probe and
 * has a vote again with every running client. At most `most_impaired` nodes are impaired at a time.
 */
class mischief {
public:
    mischief(std::vector<fault> faults, std::vector<std::unique_ptr<site>>& sites, fleet& clients,
             const probe& reference, dice& chance, unsigned most_impaired, double pace);

    /// Ends faults whose time is over, and begins due ones.
    void turn();

    /// From now on begins only faults that were never done, once each, so that the run ends soon.
    void catch_up() noexcept { catching_up_ = true; }

    /// Ends all faults and begins no more. Nodes may still have to start. Their dates become equal
    /// again, as a new fencing counter needs.
    void heal();

    /// Nodes that have a fault or have not recovered from one.
    [[nodiscard]] unsigned impaired() const;

    /// The present faults in a few words.
    [[nodiscard]] std::string in_force() const;

    /// Kinds that were never done.
    [[nodiscard]] std::vector<std::string> never_done() const;

    /// How often each fault was done, and for how long in total.
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
