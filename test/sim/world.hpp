#pragma once

#include <redlock/stats.hpp>

#include "sim/checker.hpp"
#include "sim/client.hpp"
#include "sim/faults.hpp"
#include "sim/network.hpp"
#include "sim/plan.hpp"
#include "sim/random.hpp"
#include "sim/server.hpp"

#include <cstdint>
#include <memory>
#include <ostream>
#include <vector>

namespace redlock::sim {

/// What is to happen; who it happens to is in the event.
enum class event_kind : std::uint8_t {
    bytes_up,     ///< a chunk comes to a node's end of a link (link)
    bytes_down,   ///< to a client's end (link)
    dialled,      ///< a link stands, or is refused (link)
    told_closed,  ///< a client's end hears that the link is over (link)
    written,      ///< a client's socket has taken what it was given (link)
    timer,        ///< a client's timer (client, generation)
    turn,         ///< the turn that a client asked for (client, generation)
    step,         ///< a task goes on (client, generation, task)
    cancel,       ///< an operation is to be cancelled (client, generation, serial)
    resume,       ///< a client that stood still goes on (client)
    rebirth,      ///< a client begins anew (client)
    wake,         ///< a node that stood still goes on (node)
    restarted,    ///< a node is back (node)
    ends,         ///< a node looks for keys that are over (node)
    relief,       ///< a node has memory, or its data, again (node)
    strike,       ///< the next fault of a kind (fault)
};

struct event {
    instant at;
    std::uint64_t order = 0;
    event_kind kind{};
    unsigned who = 0;
    std::uint64_t which = 0;
    std::uint64_t what = 0;
};

/// A sum of what happened in one play, to see that plays are about something.
struct tally {
    std::uint64_t events = 0;
    std::uint64_t acquired = 0;
    std::uint64_t extended = 0;
    std::uint64_t released = 0;
    /// Acquires that held a lock of their owner once more.
    std::uint64_t nested = 0;
    std::uint64_t contended = 0;
    std::uint64_t unavailable = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t expired = 0;
    std::uint64_t lost = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t closed = 0;
    std::uint64_t without_room = 0;
    std::uint64_t too_many = 0;
    std::uint64_t adopted = 0;
    std::uint64_t renewed = 0;
    std::uint64_t limits_reached = 0;
    std::uint64_t losses_told = 0;
    std::uint64_t served_when_quiet = 0;
    /// Plays in which that was demanded, and tried once more, though a minority was ill.
    std::uint64_t with_some_ill = 0;
    std::uint64_t proved_with_some_ill = 0;
    /// Of `stats`: further attempts that were begun because a node told something, and others.
    std::uint64_t woken_granted = 0;
    std::uint64_t woken_refused = 0;
    std::uint64_t polls = 0;
    std::uint64_t raises = 0;
    /// Raises of one node that came late or never, and the same of their answers.
    std::uint64_t raises_spoiled = 0;
    std::uint64_t answers_spoiled = 0;
    /// How often somebody began to believe in a lease of what another one believed to hold.
    std::uint64_t overlaps = 0;
    /// Fencing counters whose life ended while locks were still wanted.
    std::uint64_t counters_expired = 0;
    /// How often a node told of keys that were over, with nobody asking for them.
    std::uint64_t ends_told = 0;
    /// Operations that had a healthy majority throughout, so that their results could be judged.
    std::uint64_t judged = 0;
    std::array<std::uint64_t, fault_kinds> struck{};

    void add(const tally& t);
    /// Of a client that is about to end.
    void add(const stats& s);
};

/**
 * One play: masters, a network, clients and their applications, in virtual time. Everything follows
 * from the plan. Throws `violation` at the first thing that must not be.
 */
class world {
public:
    /// `trace`: where each step is told; null: nowhere.
    explicit world(plan p, std::ostream* trace = nullptr);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void run();

    /// Of everything that happened: two plays of one seed have the same.
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

    // What the parts share.
    [[nodiscard]] const plan& planned() const noexcept { return plan_; }
    [[nodiscard]] instant now() const noexcept { return now_; }
    /// The same, for whoever looks at it again and again.
    [[nodiscard]] const instant& clock() const noexcept { return now_; }
    [[nodiscard]] bool is_quiet() const noexcept { return quiet_; }
    void schedule(nanos in, event_kind kind, unsigned who = 0, std::uint64_t which = 0,
                  std::uint64_t what = 0);
    void mix(std::uint64_t value) noexcept;
    void mix_bytes(std::string_view bytes) noexcept;
    void count(const call& c, const error_code& ec);
    template <class... Parts>
    void say(const Parts&... parts)
    {
        if (trace_ != nullptr) {
            begin_line();
            ((*trace_ << parts), ...);
            *trace_ << '\n';
        }
    }

private:
    void begin_line();
    void dispatch(const event& e);
    void run_until(instant end);
    void calm_down();
    void forgive_dropped_debts();
    void prove_all();
    void prove_with_some_ill();
    void prove(client& c, const std::string& resource);
    void prove_thrift(client& c, const std::string& resource);
    void prove_waiting(client& c, unsigned index, const std::string& resource);
    void prove_keeping(client& c, const std::string& resource);
    void prove_passing_on(client& c, const std::string& resource);
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] bool rests() const;
    [[nodiscard]] bool rests(const client& c) const;
    [[nodiscard]] bool is_tracked_for(unsigned client);
    void check_rest();

    const plan plan_;
    std::ostream* const trace_;
    instant now_{std::chrono::hours{1000}};
    bool quiet_ = false;
    bool stop_when_over_ = false;
    std::uint64_t hash_ = 0;
    std::uint64_t orders_ = 0;
    std::vector<event> queue_;

public:
    // Behind what they need when they are made.
    tally counts;
    checker checks;
    network net;
    std::vector<std::unique_ptr<server>> servers;
    std::vector<std::unique_ptr<client>> clients;
    fault_injector faults;
    /// Acquires that may yet be begun.
    unsigned acquires_left = 0;
};

}  // namespace redlock::sim
