#pragma once

#include "sim/contention/network.hpp"
#include "sim/contention/play.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/random.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace redlock::contention {

/// The clients, as faults see and change them.
class client_control {
public:
    /// The node that most clients use for the queue of the resource.
    [[nodiscard]] virtual std::optional<unsigned> queue_node(const std::string& resource) const = 0;
    /// The client that waits for the end of the lock as the first one in the queue. Empty: there is
    /// none, it makes an attempt, or no client has the lock.
    [[nodiscard]] virtual std::optional<unsigned> first_in_queue() const = 0;
    /// The client ends, as after SIGKILL. A new client takes its place at `restart`.
    virtual void kill(unsigned client) = 0;
    virtual void restart(unsigned client) = 0;

protected:
    ~client_control() = default;
};

/// Another program that changes the keys of a queue at random.
class queue_spoiler {
public:
    queue_spoiler(test::random_source& random, std::string resource);

    /// Makes one change at the node.
    void spoil(instant now, test::model_master& node);

private:
    using entry = test::model_master::entry;
    struct target {
        instant now;
        test::model_master& node;
        /// The queue; without members if it is no sorted set.
        entry queue;
    };

    void delete_queue(target& t);
    void replace_queue(target& t);
    void expire_queue(target& t);
    void delete_ticket_key(target& t);
    void expire_ticket_key(target& t);
    void persist_ticket_key(target& t);
    void change_numbers(target& t);
    void add_strangers(target& t);
    void add_tickets_without_key(target& t);
    void add_dead_client(target& t);
    static void add(target& t, const std::string& member, double number);
    void write_queue(target& t);
    [[nodiscard]] std::string key_of(const std::string& ticket) const;
    [[nodiscard]] std::string new_ticket();
    [[nodiscard]] std::string some_ticket(const target& t);
    [[nodiscard]] double some_number(const target& t);

    test::random_source& random_;
    std::string resource_;
    std::string queue_;
};

/// Injects the fault of the plan again and again, at random times.
class fault_injector {
public:
    /// All references must outlive the object.
    fault_injector(const plan& p, timeline& events, network& nodes, client_control& clients,
                   std::string resource);

    void start();
    /// The number of faults so far.
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    void schedule_next();
    void inject();
    void kill_first_client();
    void inject_at(unsigned node);
    [[nodiscard]] bool may_lose_keys(unsigned node);
    void flush(unsigned node);
    void expire_keys();
    [[nodiscard]] instant now() const { return events_.now(); }

    const plan& plan_;
    timeline& events_;
    network& network_;
    client_control& clients_;
    std::string resource_;
    test::random_source random_;
    queue_spoiler spoiler_;
    std::uint64_t count_ = 0;
};

}  // namespace redlock::contention
