#pragma once

#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>
#include <redlock/result.hpp>

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/list.hpp"
#include "core/wake_ups.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace redlock::core {

struct in_queue;
struct in_flight;
struct keeper;

/// One thing a caller waits for: what was asked, the flow that does it, and what came of it. A wait
/// for a loss has no flow: its keeper ends it.
struct operation : sleeper, list_hook<in_queue>, list_hook<in_flight> {
    enum class kind : std::uint8_t {
        acquire,
        adopt,
        extend,
        release,
        inspect,
        wait_lost,
        renew,  ///< no caller's, but begun by the coordinator itself
    };
    static constexpr std::size_t kinds = 7;

    // What was asked.
    kind what = kind::acquire;
    /// The key and its owner; for an acquire the present attempt. Counted.
    lease* subject = nullptr;
    base::nanos ttl{};
    base::nanos min_validity{};
    /// No attempt begins, and no wait lasts, beyond this.
    base::instant deadline{};
    std::uint32_t attempts_left = 1;
    bool fencing = false;
    /// Of an acquire: on whose behalf.
    std::shared_ptr<const char> owner;
    redlock::report* report = nullptr;
    /// Another one each time the record is used.
    std::uint64_t serial = 0;
    /// The caller's own; never looked at here.
    void* user = nullptr;

    // How it goes.
    std::coroutine_handle<> frame;
    std::uint32_t attempts_made = 0;
    /// How it is to end, by its caller's wish or the end of the client; empty: as it may.
    error_code cancelled;
    /// Stands in the queue of those who wait for the first connections.
    bool is_newcomer = false;
    /// Of an acquire that is to be kept alive: for when it is had. Of a wait or a renewal: whose
    /// it is, null once it need not care.
    core::keeper* keeper = nullptr;

    // What came of it. After a successful acquire or adopt the `subject` is the held lease.
    error_code error;
    release_result released = release_result::not_held;
    redlock::inspection inspection;
};

/// Operations whose flow is to run on, or which are finished.
using operation_queue = list<operation, in_queue>;
/// All operations begun and not completed.
using operation_list = list<operation, in_flight>;

}  // namespace redlock::core
