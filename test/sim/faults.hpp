#pragma once

#include "sim/clock.hpp"
#include "sim/plan.hpp"
#include "sim/random.hpp"
#include "sim/server.hpp"

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
    /// The last thing that befalls a node, when nobody may come to look at it.
    void forget_once_more();
    /// The client stands still from now on, for a while.
    void halt(unsigned client);
    /// Nothing new happens, and what has happened ends.
    void stop();
    /// Then a minority stays ill in half of the plays, though, until it is healed.
    void leave_some_ill();
    /// Some, from the first one on, but no more than all others can do without.
    void make_ill(std::uint64_t first, std::uint64_t wanted, illness how);
    void heal();
    [[nodiscard]] unsigned ill() const noexcept { return static_cast<unsigned>(ill_.size()); }
    /// Of what comes with a message, a connection or an operation: whether it comes with this one.
    [[nodiscard]] bool happens(fault f);
    /// The same of a message that takes longer.
    [[nodiscard]] bool delays(bool up);
    /// The same of what a node tells by itself, which is rarer than all else.
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
    /// Nodes whose date is not what it was.
    std::vector<bool> set_back_;
};

}  // namespace redlock::sim
