#pragma once

#include "sim/clock.hpp"
#include "sim/plan.hpp"
#include "sim/random.hpp"

#include <vector>

namespace redlock::sim {

class world;

/// Brings about what the plan says can go wrong, until it is told to stop.
class fault_injector {
public:
    explicit fault_injector(world& w);

    void begin();
    /// The next fault of a kind; `fault_kinds` stands for what is beyond the assumptions.
    void strike(unsigned kind);
    void relieve(unsigned node);
    /// Nothing new happens, and what has happened ends.
    void stop();
    /// Whether the next message takes longer.
    [[nodiscard]] bool delays(unsigned client, unsigned node, bool up);

private:
    void schedule(unsigned kind);
    void befall(fault f);
    void befall_node(fault f, unsigned node);
    void befall_client(fault f, unsigned client);
    void befall_link(fault f, unsigned client, unsigned node);
    void go_beyond();

    world& w_;
    std::vector<random_source> random_;
    random_source delays_;
    std::uint64_t one_delay_in_;
    std::vector<instant> full_until_;
    std::vector<instant> loading_until_;
};

}  // namespace redlock::sim
