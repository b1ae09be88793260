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
#include <optional>
#include <string>

namespace redlock::core {

struct in_queue;
struct in_flight;
struct in_company;
struct renewal;
struct line;

/// The end of a key that has none, that nobody told, or that the client kept alive itself since.
inline constexpr base::instant unknown_end = base::instant::max();

/// One thing a caller waits for: what was asked, the flow that does it, and what came of it. A wait
/// for a loss has no coroutine: the renewals end it.
struct operation : sleeper, list_hook<in_queue>, list_hook<in_flight>, list_hook<in_company> {
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
    /// When it was begun.
    base::instant since{};
    /// No attempt begins, and no wait lasts, beyond this.
    base::instant deadline{};
    std::uint32_t attempts_left = 1;
    /// Of an acquire: empty, if it waits through every outage that may end.
    std::optional<base::nanos> max_outage;
    bool fencing = false;
    /// Of an inspect: ends no sooner than each node has said something or has failed.
    bool every_node = false;
    /// Of an acquire: on whose behalf.
    std::shared_ptr<const char> owner;
    /// Of an acquire: what others are to know about the holder; null: nothing.
    std::unique_ptr<const std::string> label;
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
    /// Of an acquire: the line it stands in, if it does; it has no flow then, unless it had made an
    /// attempt before.
    core::line* in_line = nullptr;
    /// It asks right behind what gives the resource back, where nobody else can come in between.
    bool is_next = false;
    /// It has let other clients go first.
    bool has_rested = false;
    /// A notification has led to the present attempt.
    bool was_woken = false;
    /// More than one attempt was asked for.
    bool may_wait = false;
    /// Pauses between two attempts.
    bool may_be_roused = false;
    /// What may have been in the way of its attempt was given back by its own client meanwhile.
    bool was_roused = false;
    /// The server has told that the key which was in its way has gone.
    bool is_woken = false;
    /// It looked for a key that had gone already, and has not seen one since.
    bool is_rushed = false;
    /// Pauses until then, unless it is told something; its deadline may come before.
    base::instant looks_at{};
    /// Goes on with the pause of one that led before it and left.
    bool is_heir = false;
    /// A node was asked to tell when the key goes, and has not answered.
    bool is_watch_asked = false;
    /// The node that is to tell so.
    node_mask watches = 0;
    /// How often it was woken and refused.
    std::uint32_t refusals = 0;
    /// Of several resources the one that is in its way, counted from one.
    unsigned held = 0;
    /// Until when the key that is in its way lives, by what was said last, if nothing happens that
    /// is to be told; or `unknown_end`.
    base::instant refused_until{};
    /// It may as well be so much sooner: what the answer took.
    base::nanos refused_within{};
    /// When that was said.
    base::instant refused_at{};
    /// The node that was to tell, where it looks since nothing was told.
    node_mask looked_at = 0;
    /// So many looks have to find nothing that was to be told until it rests as it did before.
    std::uint8_t doubts = 0;
    /// Stands among those that watch the resource as one of several.
    bool is_listed = false;
    /// How many stood in front of it when it began to wait.
    std::size_t queue_position = 0;
    /// Of an acquire that is to be kept alive: for when it is had. Of a wait or a renewal: whose
    /// it is, null once it need not care.
    core::renewal* renewal = nullptr;

    // What came of it. After a successful acquire or adopt the `subject` is the held lease.
    error_code error;
    release_result released = release_result::not_held;
    redlock::inspection inspection;
};

/// Operations whose flow is to run on, or which are finished.
using operation_queue = list<operation, in_queue>;
/// Those that wait for the same: of one owner in line, or of several resources that one is in the
/// way of. None stands in both.
using company = list<operation, in_company>;
/// All operations begun and not completed.
using operation_list = list<operation, in_flight>;

}  // namespace redlock::core
