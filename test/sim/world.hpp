#pragma once

#include <redlock/stats.hpp>

#include "sim/checker.hpp"
#include "sim/client.hpp"
#include "sim/faults.hpp"
#include "sim/network.hpp"
#include "sim/plan.hpp"
#include "sim/server.hpp"
#include "support/virtual/timeline.hpp"

#include <cstdint>
#include <memory>
#include <ostream>
#include <vector>

namespace redlock::sim {

/// The kinds of events. The event says which client, node or link it is about.
enum class event_kind : std::uint8_t {
    bytes_up,     ///< a chunk reaches a node's end of a link (link)
    bytes_down,   ///< a chunk reaches a client's end (link)
    dialled,      ///< a link is up or refused (link)
    told_closed,  ///< a client's end hears that the link is over (link)
    written,      ///< a client's socket has taken the bytes (link)
    timer,        ///< a client's timer (client, generation)
    turn,         ///< the turn that a client asked for (client, generation)
    step,         ///< a task takes its next step (client, generation, task)
    cancel,       ///< an operation is cancelled (client, generation, serial)
    resume,       ///< a suspended client goes on (client)
    rebirth,      ///< a client begins again (client)
    wake,         ///< a suspended node goes on (node)
    restarted,    ///< a node is back (node)
    ends,         ///< a node searches for expired keys (node)
    relief,       ///< a node has memory or its data again (node)
    strike,       ///< the next fault of a kind (fault)
};

struct event {
    event_kind kind{};
    unsigned who = 0;
    std::uint64_t which = 0;
    std::uint64_t what = 0;
};

/// Counts of events in a play. They show that plays test something.
struct tally {
    /// The sum of the hashes of all plays: equal if the same seeds were played in the same way.
    std::uint64_t hashes = 0;
    std::uint64_t events = 0;
    std::uint64_t acquired = 0;
    std::uint64_t extended = 0;
    std::uint64_t released = 0;
    /// Acquires that took a further hold of their owner's lock.
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
    /// Plays in which a majority had to serve everyone while a minority was faulty, and plays that
    /// then tried a lock.
    std::uint64_t with_some_ill = 0;
    std::uint64_t proved_with_some_ill = 0;
    /// From `stats`: attempts after a notification, and polls.
    std::uint64_t woken_granted = 0;
    std::uint64_t woken_refused = 0;
    std::uint64_t polls = 0;
    std::uint64_t raises = 0;
    /// Alignments of one node that came late or never, and such answers.
    std::uint64_t raises_spoiled = 0;
    std::uint64_t answers_spoiled = 0;
    /// How often a client began to believe in a lease that overlaps with another client's belief.
    std::uint64_t overlaps = 0;
    /// Fencing counters that expired while locks were still wanted.
    std::uint64_t counters_expired = 0;
    /// How often a node sent notifications for expired keys that no command named.
    std::uint64_t ends_told = 0;
    /// Operations with a healthy majority throughout, so that their results could be judged.
    std::uint64_t judged = 0;
    std::array<std::uint64_t, fault_kinds> struck{};

    void add(const tally& t);
    /// Adds the counts of a client that is about to end.
    void add(const stats& s);
};

/**
 * One play: nodes, a network, clients and their applications, in virtual time. The plan determines
 * everything. Throws `violation` at the first broken promise.
 */
class world {
public:
    /// `trace`: where each step is printed. Null: nowhere.
    explicit world(plan p, std::ostream* trace = nullptr);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void run();

    /// A hash of all events. Two plays of one seed have the same.
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

    // Shared by the parts.
    [[nodiscard]] const plan& planned() const noexcept { return plan_; }
    /// The time in which a waiter that polls finds out that the waiters before it are dead. Zero:
    /// no node has tickets of two.
    [[nodiscard]] nanos time_to_pass_dead_waiters(const std::string& resource) const;
    [[nodiscard]] instant now() const noexcept { return events_.now(); }
    /// The same as a reference for frequent reads.
    [[nodiscard]] const instant& clock() const noexcept { return events_.now(); }
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
    bool quiet_ = false;
    bool stop_when_over_ = false;
    std::uint64_t hash_ = 0;
    test::timeline<event> events_{std::chrono::hours{1000}};

public:
    // Declared after the members that they need at construction.
    tally counts;
    checker checks;
    network net;
    std::vector<std::unique_ptr<server>> servers;
    std::vector<std::unique_ptr<client>> clients;
    fault_injector faults;
    /// Acquires that may still begin.
    unsigned acquires_left = 0;
};

}  // namespace redlock::sim
