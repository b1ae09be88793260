#pragma once

#include "sim/clock.hpp"
#include "sim/plan.hpp"
#include "sim/server.hpp"
#include "support/virtual/random.hpp"

#include <vector>

namespace redlock::sim {

class world;

/// Brings about the faults of the plan until it is stopped.
class fault_injector {
public:
    explicit fault_injector(world& w);

    void begin();
    /// Brings about the next fault of a kind. `fault_kinds`: breaks the assumption of the play.
    void strike(unsigned kind);
    void relieve(unsigned node);
    /// The last loss of keys, after which a client may have no reason to check the node.
    void forget_once_more();
    /// Suspends the client for a while.
    void halt(unsigned client);
    /// Begins no more faults and ends the present ones.
    void stop();
    /// In half of the plays a minority stays faulty until it is healed.
    void leave_some_ill();
    /// Makes some nodes faulty, beginning with the first. At most as many as the others can do
    /// without.
    void make_ill(std::uint64_t first, std::uint64_t wanted, illness how);
    void heal();
    [[nodiscard]] unsigned ill() const noexcept { return static_cast<unsigned>(ill_.size()); }
    /// Whether the fault comes with this message, connection or operation.
    [[nodiscard]] bool happens(fault f);
    /// The same for a message that takes longer.
    [[nodiscard]] bool delays(bool up);
    /// The same for a notification, where the fault is rarer.
    [[nodiscard]] bool spoils_push();

private:
    void schedule(unsigned kind);
    [[nodiscard]] bool happens(fault f, std::uint32_t one_in);
    void befall(fault f);
    void befall_node(fault f, unsigned node);
    void befall_client(fault f, unsigned client);
    void make_forget(unsigned node);
    void befall_link(fault f, unsigned client, unsigned node);
    void go_beyond();
    void set_date_back(server& s, nanos by, memory keys);
    bool set_date_back_once(std::size_t node, nanos by);
    void begin_anew(unsigned client, nanos away);

    world& w_;
    std::vector<random_source> random_;
    std::vector<instant> full_until_;
    std::vector<instant> loading_until_;
    std::vector<instant> demoted_until_;
    std::vector<unsigned> ill_;
    /// Nodes whose date was set back.
    std::vector<bool> set_back_;
};

}  // namespace redlock::sim
