#pragma once

#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>
#include <redlock/result.hpp>

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/list.hpp"
#include "core/timer_heap.hpp"
#include "core/wait_state.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace redlock::core {

struct in_queue;
struct in_flight;
struct in_waiter_list;
struct renewal;
struct wait_queue;

/// An operation that a caller waits for: its arguments, its coroutine and its result. A wait for a
/// loss has no coroutine: the renewals end it.
struct operation : sleeper, list_hook<in_queue>, list_hook<in_flight>, list_hook<in_waiter_list> {
    enum class kind : std::uint8_t {
        acquire,
        adopt,
        extend,
        release,
        inspect,
        wait_lost,
        renew,  ///< begun by the client, for no caller
    };
    static constexpr std::size_t kinds = 7;

    // The arguments.
    kind what = kind::acquire;
    /// The lease; for an acquire, the lease of the present attempt. Counted.
    lease* subject = nullptr;
    base::nanos ttl{};
    base::nanos min_validity{};
    /// The instant at which the operation began.
    base::instant since{};
    /// No attempt begins after this, and no wait goes on.
    base::instant deadline{};
    std::uint32_t attempts_left = 1;
    /// For an acquire; empty: the acquire waits however long an outage lasts.
    std::optional<base::nanos> max_outage;
    bool fencing = false;
    /// For an inspect: it does not end before each node has answered or failed.
    bool every_node = false;
    /// The reentrant owner of an acquire; null: it has none.
    std::shared_ptr<const char> owner;
    /// The label that names the holder of an acquire to others; null: none.
    std::unique_ptr<const std::string> label;
    redlock::report* report = nullptr;
    /// Differs each time the record is used.
    std::uint64_t serial = 0;
    /// Data of the engine. The core does not read it.
    void* user = nullptr;

    // The state.
    std::coroutine_handle<> frame;
    std::uint32_t attempts_made = 0;
    /// The error with which the caller or the end of the client ends the operation; empty: none.
    error_code cancelled;
    /// The acquire waits for the first connections.
    bool is_newcomer = false;
    /// The wait queue in which the acquire is; null: none. Before its first attempt, an acquire in
    /// a queue has no coroutine.
    wait_queue* queue = nullptr;
    /// More than one attempt was asked for.
    bool may_wait = false;
    /// The acquire waits between two attempts.
    bool may_be_roused = false;
    /// Its wait at a node.
    wait_state wait;
    /// The number of waiters before the acquire when it began to wait.
    std::size_t queue_position = 0;
    /// For a kept-alive acquire, the record for its lock. For a wait or a renewal, the record that
    /// it belongs to; null once it was abandoned.
    core::renewal* renewal = nullptr;

    // The result. After a successful acquire or adopt the `subject` is the held lease.
    error_code error;
    release_result released = release_result::not_held;
    /// The result of an inspect; null for other operations.
    std::unique_ptr<redlock::inspection> inspection;
};

/// Operations whose coroutine can go on, or which have ended.
using operation_queue = list<operation, in_queue>;
/// Acquires of several resources with the same one in their way.
using waiter_list = list<operation, in_waiter_list>;
/// All operations that began and have not completed.
using operation_list = list<operation, in_flight>;

}  // namespace redlock::core
