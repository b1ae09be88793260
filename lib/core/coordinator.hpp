#pragma once

#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/log.hpp>
#include <redlock/report.hpp>
#include <redlock/stats.hpp>

#include "base/entropy.hpp"
#include "base/instant.hpp"
#include "base/owner_token.hpp"
#include "base/settings.hpp"
#include "base/wall_clock.hpp"
#include "core/contention/contention.hpp"
#include "core/leases.hpp"
#include "core/node/context.hpp"
#include "core/node/node.hpp"
#include "core/operation.hpp"
#include "core/operations/context.hpp"
#include "core/operations/flows.hpp"
#include "core/pool.hpp"
#include "core/quorum/availability.hpp"
#include "core/quorum/rounds.hpp"
#include "core/renewal/renewals.hpp"
#include "core/resource_names.hpp"
#include "core/round.hpp"
#include "core/scheduler.hpp"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

/**
 * The algorithm of one client, without sockets, clocks or threads: all of them are arguments.
 *
 * The engine passes in operations, bytes and instants. After each call it collects the bytes to
 * write (`take_output`), the nodes to connect to and to disconnect from (`take_to_connect`,
 * `take_to_close`), finished operations and the next instant. `now` never goes backwards and is
 * constant within a call. The core calls nothing but the log and `config::backoff`.
 *
 * The algorithm is Redlock,
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/.
 */
class coordinator final : private round_listener, private renewal_listener, private record_owner {
public:
    /// All arguments must outlive the coordinator.
    coordinator(const base::settings& s, base::entropy& random, base::wall_clock& date);
    coordinator(const coordinator&) = delete;
    coordinator& operator=(const coordinator&) = delete;
    ~coordinator();

    // Operations. The engine has validated the arguments. Each may throw `std::bad_alloc`; no
    // operation has begun then. An operation is valid until the engine takes it from
    // take_finished() and calls `recycle`.
    operation& acquire(base::instant now, const resource_names& names, const acquire_options& o);
    operation& adopt(base::instant now, const resource_names& names, const base::owner_token& owner,
                     base::nanos ttl, report* r);
    operation& extend(base::instant now, lease& l, base::nanos ttl, report* r);
    /// Takes over the caller's reference to the lease.
    operation& release(base::instant now, lease& l, report* r);
    operation& inspect(base::instant now, std::string_view resource, const inspect_options& o);
    /// Completes with `lost`, or with `not_held` when the lease is released or detached.
    operation& wait_lost(base::instant now, lease& l);
    /// The operation completes with `operation_aborted`, unless it is decided already.
    void cancel(base::instant now, operation& op) noexcept;
    /// The lock object is gone: releases the lease, for no caller. Takes over the caller's
    /// reference.
    void drop(base::instant now, lease& l) noexcept;
    /// Forgets a lease without a release. Takes over the caller's reference.
    void let_go(base::instant now, lease& l) noexcept;

    /// Ends leases whose validity is over, and renews those that are due. The engine calls this
    /// before it completes other operations, so a loss is reported first.
    void look_after(base::instant now) noexcept;
    /// Takes the oldest outcome of a renewal. False: there is none.
    [[nodiscard]] bool take_news(renewal_news& told) noexcept { return renewals_.take_news(told); }
    void forget(const renewal_news& told) noexcept { renewals_.forget(told); }
    [[nodiscard]] std::size_t news() const noexcept { return renewals_.news(); }

    /// Takes an operation that has ended; the engine must complete it at once. If the lease of a
    /// success has ended since, as in a process that stood still, the success becomes an error, or
    /// an acquire goes on.
    [[nodiscard]] operation* take_finished(base::instant now) noexcept;
    [[nodiscard]] std::size_t finished() const noexcept { return scheduler_.finished(); }
    /// Those of them that waited for a loss, which are taken before all others.
    [[nodiscard]] std::size_t losses() const noexcept { return scheduler_.losses(); }
    /// Operations of callers that were not recycled.
    [[nodiscard]] std::size_t operations() const noexcept
    {
        return scheduler_.size() - scheduler_.count_of(operation::kind::renew);
    }
    /// Whether `config::max_in_flight` lets one more begin.
    [[nodiscard]] bool has_room_for(operation::kind what) const noexcept;
    /// Whether the reentrant owner of such an acquire holds the resources already.
    [[nodiscard]] bool is_had(const resource_names& names, const acquire_options& o) const;
    void recycle(operation& op) noexcept { context_.recycle(op); }

    // The network. After `to_connect` named a node, the engine answers with on_connected or
    // on_closed; after `to_close`, with nothing. With `config::credentials` it gives on_credentials
    // before on_connected.
    void start(base::instant now) noexcept;
    /// False: the attempt to connect was given up.
    [[nodiscard]] bool on_credentials(base::instant now, unsigned node,
                                      const base::login& given) noexcept;
    /// The TCP connection to a node with TLS is made.
    void on_tls_handshake(unsigned node) noexcept;
    /// Whether the name of the node has addresses that were not tried yet. If this server can't be
    /// used, the client connects to the next one at once.
    void note_other_addresses(unsigned node, bool has_some) noexcept;
    /// Whether a connection to the node that was ready has ended since the last call.
    [[nodiscard]] bool take_was_useful(unsigned node) noexcept;
    void on_connected(base::instant now, unsigned node) noexcept;
    void on_bytes(base::instant now, unsigned node, std::string_view bytes) noexcept;
    void on_closed(base::instant now, unsigned node, std::string_view reason) noexcept;
    void on_time(base::instant now) noexcept;
    /// Ends all operations but releases with `closed`. Pending releases are still sent.
    void close(base::instant now) noexcept;
    /// Ends all operations with `closed`. The client makes no further connection.
    void stop(base::instant now) noexcept;

    [[nodiscard]] base::instant next_deadline() const noexcept;
    /// Whether a caller waits for the end of a lease, or a lease is kept alive.
    [[nodiscard]] bool looks_after_leases() const noexcept { return !renewals_.empty(); }
    [[nodiscard]] node_mask take_to_connect() noexcept
    {
        return std::exchange(shared_.to_connect, 0);
    }
    [[nodiscard]] node_mask take_to_close() noexcept { return std::exchange(shared_.to_close, 0); }
    [[nodiscard]] node_mask take_written() noexcept { return std::exchange(shared_.written, 0); }
    [[nodiscard]] bool has_output(unsigned node) const noexcept
    {
        return !nodes_[node]->out().empty();
    }
    /// The bytes to write to a node next. The engine takes them and leaves an empty string. They
    /// count as buffered until on_written.
    [[nodiscard]] std::string& take_output(unsigned node) noexcept
    {
        return nodes_[node]->out().take();
    }
    /// `used`: the string that was taken, emptied and overwritten, for further bytes.
    void on_written(unsigned node, std::string used = {}) noexcept
    {
        nodes_[node]->out().on_written(std::move(used));
    }
    [[nodiscard]] std::size_t buffered_bytes(unsigned node) const noexcept
    {
        return nodes_[node]->out().size();
    }

    [[nodiscard]] const contention& waiters() const noexcept { return contention_; }
    /// Records of every kind. None, if there are no locks, operations and pending releases.
    [[nodiscard]] std::size_t records_in_use() const noexcept
    {
        return leases_.size() + rounds_.records_in_use() + scheduler_.size() +
               shared_.pending_releases.in_use() + renewals_.records_in_use() +
               contention_.queues() + context_.frames.in_use();
    }
    /// Whether no release is under way or about to be sent.
    [[nodiscard]] bool is_quiet() const noexcept;
    [[nodiscard]] redlock::stats snapshot() const noexcept;
    [[nodiscard]] const base::settings& settings() const noexcept { return settings_; }

    /// Writes a line to the user's log, from these parts.
    void log(log_level level, std::initializer_list<std::string_view> line) const noexcept
    {
        shared_.log(level, line);
    }

private:
    void call_off(operation& op, error_code ec) noexcept;
    template <class Which>
    void cancel_all(Which which) noexcept;
    template <class Step>
    void step_or_break_off(unsigned index, Step step) noexcept;
    [[nodiscard]] operation& new_operation(operation::kind what, const resource_names& names,
                                           report* r);
    void begin(operation& op, flow (*body)(operation_context&, operation&));
    void set_options(operation& op, const acquire_options& o);
    bool settle_success(operation& op) noexcept;
    void stop_waiting(operation& op, error_code why) noexcept;
    void run() noexcept;

    // Reports of the renewals.
    void on_expired(lease& l) noexcept override { leases_.lose(l); }
    void on_due(renewal& k, base::nanos ttl) override { begin_renewal(context_, k, ttl); }
    void on_abandoned(operation& renewal, error_code why) noexcept override
    {
        call_off(renewal, why);
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
    bool closed_ = false;

    scheduler scheduler_;

    node_context shared_;  // before the nodes, which return memory to it
    node_list nodes_;
    availability availability_;
    contention contention_;
    rounds rounds_;
    renewals renewals_;
    leases leases_;
    /// Has the frames of coroutines, which the destructor ends first.
    operation_context context_;
};

}  // namespace redlock::core
