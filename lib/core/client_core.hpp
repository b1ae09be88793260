#pragma once

#include <redlock/config.hpp>
#include <redlock/log.hpp>
#include <redlock/stats.hpp>

#include "base/entropy.hpp"
#include "base/instant.hpp"
#include "base/settings.hpp"
#include "base/wall_clock.hpp"
#include "core/contention/contention.hpp"
#include "core/contention/fair_queue.hpp"
#include "core/contention/leader_table.hpp"
#include "core/leases.hpp"
#include "core/network.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/operations/client_operations.hpp"
#include "core/operations/context.hpp"
#include "core/operations/coroutines.hpp"
#include "core/quorum/availability.hpp"
#include "core/quorum/rounds.hpp"
#include "core/renewal/renewals.hpp"
#include "core/round.hpp"
#include "core/scheduler.hpp"

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace redlock::core {

/**
 * The algorithm of one client, without sockets, clocks or threads: all of them are arguments.
 *
 * The engine passes in operations, events of connections and instants. After each call it collects
 * the ended operations from `operations`, what to write, to connect to and to close from `network`,
 * and the next instant. `now` never goes backwards and is constant within a call. The
 * core calls nothing but the log and `config::backoff`.
 *
 * The algorithm is Redlock,
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/.
 */
class client_core final : private round_listener,
                          private connection_events,
                          private renewal_listener,
                          private record_owner {
public:
    /// All arguments must outlive this object.
    client_core(const base::settings& s, base::entropy& random, base::wall_clock& date);
    client_core(const client_core&) = delete;
    client_core& operator=(const client_core&) = delete;
    ~client_core();

    [[nodiscard]] core::client_operations& operations() noexcept { return operations_; }
    [[nodiscard]] const core::client_operations& operations() const noexcept { return operations_; }
    [[nodiscard]] core::network& network() noexcept { return network_; }
    [[nodiscard]] const core::network& network() const noexcept { return network_; }

    /// Ends leases, operations and rounds whose time is over, and does what else is due. The engine
    /// calls this at `next_deadline`.
    void on_time(base::instant now) noexcept;
    /// Ends leases whose validity is over, and begins the renewals that are due. The engine calls
    /// this before it completes other operations, so a loss is reported first.
    void check_leases(base::instant now) noexcept;
    /// Takes the oldest outcome of a renewal. False: there is none.
    [[nodiscard]] bool take_news(renewal_news& told) noexcept { return renewals_.take_news(told); }
    void forget(const renewal_news& told) noexcept { renewals_.forget(told); }
    [[nodiscard]] std::size_t news() const noexcept { return renewals_.news(); }

    /// Ends all operations but releases with `closed`. Pending releases are still sent.
    void close(base::instant now) noexcept;
    /// Ends all operations with `closed`. The client makes no further connection.
    void stop(base::instant now) noexcept;

    [[nodiscard]] base::instant next_deadline() const noexcept;
    /// Whether a caller waits for the end of a lease, or a lease is kept alive. Then the engine
    /// calls `check_leases`.
    [[nodiscard]] bool has_leases_to_check() const noexcept { return !renewals_.empty(); }
    [[nodiscard]] const contention& waiters() const noexcept { return contention_; }
    [[nodiscard]] const core::fair_queue& fair_queue() const noexcept { return fair_queue_; }
    /// The number of records of every kind. It is zero if there are no locks, operations and
    /// pending releases.
    [[nodiscard]] std::size_t records_in_use() const noexcept
    {
        return leases_.size() + rounds_.records_in_use() + scheduler_.size() +
               shared_.pending_releases.in_use() + renewals_.records_in_use() +
               contention_.queues() + context_.frames.in_use();
    }
    [[nodiscard]] redlock::stats snapshot() const noexcept;
    [[nodiscard]] const base::settings& settings() const noexcept { return settings_; }

    /// Writes a line to the user's log, from these parts.
    void log(log_level level, std::initializer_list<std::string_view> line) const noexcept
    {
        shared_.log(level, line);
    }

private:
    // Reports of the renewals.
    void on_expired(lease& l) noexcept override { leases_.lose(l); }
    void on_due(renewal& k, base::nanos ttl) override { begin_renewal(context_, k, ttl); }
    void on_abandoned(operation& renewal, error_code why) noexcept override
    {
        operations_.call_off(renewal, why);
    }
    void on_end(operation& wait, error_code why) noexcept override;

    // Reports of rounds and nodes.
    void on_decided(operation& waiter) noexcept override { context_.resume(waiter); }
    void on_connection(unsigned index, connection_event what) override;
    void on_contact() noexcept;

    // Records without references.
    void take_back(lease& l) noexcept override { leases_.take_back(l); }
    void take_back(round& r) noexcept override { rounds_.take_back(r); }

    const base::settings& settings_;

    scheduler scheduler_;

    node_context shared_;  // before the nodes, which return memory to it
    node_list nodes_;
    availability availability_;
    leader_table leaders_;
    core::fair_queue fair_queue_;
    contention contention_;
    rounds rounds_;
    renewals renewals_;
    leases leases_;
    /// Has the memory of the coroutine frames, which the destructor ends first.
    operation_context context_;
    core::client_operations operations_;
    core::network network_;
};

}  // namespace redlock::core
