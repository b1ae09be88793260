#pragma once

#include <redlock/credentials.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/log.hpp>
#include <redlock/reentrant_owner.hpp>
#include <redlock/report.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// Maximum length of a resource name, in bytes. A name may contain any bytes, including NUL and
/// line ends. It must not end with ":fencing", ":redlock:holder", ":redlock:queue" or
/// ":redlock:ticket". These suffixes name the keys beside a lock: its fencing counter, the label of
/// its holder, and the queue of the clients that wait for it with their tickets.
inline constexpr std::size_t max_resource_size = 64 * 1024;

/// Maximum number of resources in one lock. The sum of their lengths is at most
/// `max_resource_size`.
inline constexpr std::size_t max_resources = 128;

/// Maximum length of `acquire_options::label`, in bytes.
inline constexpr std::size_t max_label_size = 256;

/// Maximum number of nodes of one client.
inline constexpr std::size_t max_nodes = 32;

/**
 * TLS settings for nodes given as `rediss://`: how the client and a node prove their identity.
 *
 * Before each connection the client checks whether a file has changed. If so, the client loads all
 * files again. If it cannot load the new files, it keeps the files that it has and logs a warning.
 * The client then tries again before the next connection. Open connections do not change.
 */
struct tls_config {
    /// Name of a PEM file with the certificates to trust. Empty: the certificates of the system,
    /// which the client does not check for changes.
    std::string ca_file{};
    /// Name of a PEM file with the client's own certificate chain. Needs `key_file`. Empty: the
    /// client presents no certificate.
    std::string certificate_file{};
    /// Name of a PEM file with the private key of `certificate_file`, not encrypted. Needs
    /// `certificate_file`. Empty: no key.
    std::string key_file{};
    /// Server name that the client requests (SNI) and expects in the certificate. Empty: the host
    /// of the node's URL.
    std::string server_name{};
    /// Accepts any certificate of a node. Off by default. For experiments only: the client logs a
    /// warning when `async_run` begins.
    bool insecure_skip_verification = false;
};

/**
 * Restart guard: quarantines a node that may have forgotten locks until those locks have expired. A
 * node forgets locks by a restart without its data, a FLUSHALL or a failover, for example.
 *
 * The guard protects only if every client of these nodes has it, with the same values. A client
 * without the guard may still accept the votes of an empty node.
 *
 * Each admitted node holds a marker key. A node that loses its keys loses the marker, too. A client
 * that misses the marker, or finds one of an earlier run of the server, quarantines the node. The
 * votes of a node in quarantine do not count until one of these is true:
 * - this client has waited for `max_ttl` plus the drift, by its boot-time clock
 * - another client that has waited as long has admitted the node
 *
 * The guard needs this:
 * - The user of each node is permitted to call INFO and TIME.
 * - A node with a `maxmemory` does not evict keys.
 * - The marker was written by clients with the same `max_ttl`, `drift_factor` and number of nodes.
 *
 * The client does not use a node that breaks one of these rules. If a node forbids only TIME, the
 * node stays in quarantine instead. The log and the reports say why.
 */
struct guard_config {
    /// Maximum ttl of any lock that any client acquires or extends on these nodes with this
    /// `key_prefix`. At least four times `config::node_timeout`, at most 10 years. There is no
    /// default: zero is refused. An operation with a longer ttl completes with
    /// `errc::invalid_ttl`.
    std::chrono::milliseconds max_ttl{0};

    /// Admits a node without a marker at once, if this client's first attempt to connect to it
    /// succeeds. Off by default. It is for the first client of new nodes. A node that lost its keys
    /// looks like a new one, so set this once and remove it afterwards. The client logs a warning
    /// when `async_run` begins.
    bool admit_new_nodes = false;
};

/**
 * Configuration of a client: its nodes, its timeouts and its limits.
 *
 * The constructor of the client checks the configuration once. If a value is not allowed, it throws
 * `boost::system::system_error` with `errc::invalid_config`. The text names the field. No timeout
 * or wait may be longer than 24 hours.
 */
struct config {
    /**
     * URLs of the nodes, 1 to 32 of them, which must be independent of each other. A majority is
     * counted among all listed nodes.
     *
     * These forms are possible:
     * - `redis://[user[:password]@]host[:port][/db]` for TCP
     * - `rediss://...` for TLS
     * - `unix:///path[?db=n]` for a unix socket
     * - `valkey://` and `valkeys://`, which mean the same as `redis://` and `rediss://`
     *
     * An IPv6 address goes into brackets. A character that has a meaning in a URL must be
     * percent-encoded. The client refuses two addresses of one server if their text shows that. Two
     * databases of one server are still one node.
     *
     * `?durable=1` (`?db=n&durable=1` of a unix socket) excludes a node from the `restart_guard`.
     * Such a node must never lose a key that it has acknowledged. It must keep its keys through a
     * restart (`appendfsync always`), and there must be no failover and no FLUSHALL.
     *
     * An execution context resolves host names one at a time, in a single thread. If a name server
     * may hang, IP addresses are safer.
     */
    std::vector<std::string> nodes{};

    /// Prefix of all keys: the key of a resource is this prefix and the name. At most 1 KiB. Empty
    /// by default: the name alone is the key, as with other Redlock clients.
    std::string key_prefix{};

    /// Name that each connection reports to its node (CLIENT LIST). Printable ASCII without spaces,
    /// at most 1 KiB. Empty: no name.
    std::string client_name = "redlock";

    /// Maximum time for one node to answer one command. Positive, at most `stall_timeout`, and at
    /// most a quarter of every ttl used. Above 2.5 s the default ttl of an acquire, 10 s, is
    /// refused as `invalid_ttl`. 50 ms by default, the most that the description of Redlock
    /// suggests. That is many round trips within one site, and a small part of a ttl. Distant nodes
    /// need more.
    std::chrono::milliseconds node_timeout{50};

    /// Maximum drift between two clocks, as a share of the ttl: from 0 to below 1. 0.01 by default,
    /// as in other Redlock clients. Zero: no drift. The client always subtracts another 2 ms from
    /// each validity.
    double drift_factor = 0.01;

    /// Maximum time from the look-up of a name to a usable connection. Positive. 2 s by default: a
    /// lost first packet can be sent again, and there is time for TLS. The reply of `credentials`
    /// may take as long again, before the look-up.
    std::chrono::milliseconds connect_timeout{2000};

    /// Minimum wait between two attempts to connect to a node. Positive. 10 ms by default: the
    /// client soon finds a node that restarts, and does not flood it. There is no wait if a node
    /// closes a connection that has worked well and is idle.
    std::chrono::milliseconds reconnect_backoff_min{10};
    /// Maximum wait between two attempts to connect to a node. The wait is random, from
    /// `reconnect_backoff_min` to this. At least `reconnect_backoff_min`. 2 s by default: the
    /// client connects to a node that is back after 2 s at the latest.
    std::chrono::milliseconds reconnect_backoff_max{2000};

    /// Maximum time that a command stays unanswered before the client closes the connection and
    /// connects again. At least `node_timeout`. 2 s by default. A fork or a long script seldom
    /// holds up a node for longer, and the answers of the node are worth the wait.
    std::chrono::milliseconds stall_timeout{2000};

    /// Time without a reply after which the client checks that a connection works. Zero: never. 5 s
    /// by default: the client notices a vanished node before a lock needs it. A check costs one or
    /// two small commands.
    std::chrono::milliseconds ping_interval{5000};

    /// First bound of the back-off between two attempts of one acquire. The client backs off where
    /// no node will send a notification. The back-off is random below the bound (full jitter), and
    /// the bound doubles with each attempt. The client adds the time in which a majority usually
    /// answers.
    ///
    /// Zero: no back-off at first, then a bound of 1 ms. If `backoff_max` is zero, too, there is no
    /// back-off at all. 5 ms by default: some round trips, so that two acquires that collided do
    /// not collide again.
    std::chrono::milliseconds backoff_min{5};
    /// Maximum back-off between two attempts: the bound grows up to this. At least `backoff_min`.
    /// 250 ms by default: about the longest that a free lock waits for an acquire that has made
    /// many attempts.
    std::chrono::milliseconds backoff_max{250};

    /**
     * Custom back-off: returns how long to wait before the next attempt. `attempts` is the number
     * of attempts made. `wait` is the back-off that `backoff_min` and `backoff_max` would give.
     * Empty by default: the client waits for `wait`.
     *
     * - A result below zero counts as zero.
     * - The deadline of the acquire and the ttl of the other holder's lock end the wait sooner.
     * - The result has no effect where the acquire waits for a notification instead.
     * - The client calls the function on the client's executor. The function must not call the
     *   client.
     * - If the function throws, the client logs the exception and waits for `wait`.
     */
    std::function<std::chrono::nanoseconds(std::uint32_t attempts, std::chrono::nanoseconds wait)>
        backoff{};

    /**
     * Whether a refused acquire asks a node to send a notification once the lock is free, instead
     * of asking for the lock again and again. On by default.
     *
     * A notification is a hint: a lost one costs a wait of `max_poll_interval`. A node sends no
     * notifications if it does not support RESP3, or if its user may not call CLIENT TRACKING.
     * Acquires then ask again after a back-off.
     */
    bool release_notifications = true;

    /**
     * Whether clients that wait for one resource form a queue, so that the first of them asks for
     * the lock next. On by default.
     *
     * A refused client takes a ticket at one node, the queue node. The client gets a notification
     * when the ticket before its own is gone. The queue decides only which client asks next: a lost
     * or wrong queue costs time, and never gives the lock to two clients.
     *
     * If the queue node forbids the queue's commands, the client uses the queue of the next node.
     * If all nodes forbid them, or if this is false, a refused client takes no ticket: it asks
     * again after a back-off or after a notification that the lock is free. Such a client may get
     * the lock before clients that have waited for longer, and it may wait for long. So all clients
     * of a resource should have the same value.
     */
    bool fair_queue = true;

    /// Maximum wait between two polls of an acquire that expects a notification. Positive. The wait
    /// ends sooner if the ttl of the other holder's lock ends. 1 s by default. A lost notification
    /// costs at most this wait, and a waiting acquire asks the nodes only that often.
    ///
    /// If a client waits for more resources than `max_poll_interval` has milliseconds, the maximum
    /// wait is 1 ms for each of them. So a client with very many waiting acquires polls about 1000
    /// times a second in total. It also polls whenever a ttl ends. In the fair queue, a client
    /// that is not the first one waits for half of `max_poll_interval` at most, or for 3 ms for
    /// each client before it if that is longer. Without very many resources the wait is 15 s at
    /// most.
    std::chrono::milliseconds max_poll_interval{1000};

    /// Maximum time that `async_close` waits for releases that are still going out. Zero: no wait.
    /// 500 ms by default, ten node timeouts. A release without an answer by then will hardly get
    /// one soon, and its keys expire.
    std::chrono::milliseconds close_timeout{500};

    /**
     * Whether locks get fencing tokens, unless `acquire_options::fencing` says otherwise. On by
     * default.
     *
     * A fencing token is the number of a lease. It is unique. It is also greater than every token
     * that any client knew before, as long as nodes keep their counters. The page
     * docs/design/safety.md says what that needs and how the restart guard helps. Each node keeps a
     * counter for each resource, in a key with the resource's name and ":fencing" at its end.
     *
     * A majority of the nodes must agree about the date to within one second, or to within a
     * quarter of `guard_config::max_ttl` if that is less. If no majority agrees, attempts end
     * `unavailable` in these cases:
     * - The resource is new and has no counters.
     * - The resource has counters that began while dates differed, and the nodes without such a
     *   counter are too few for a majority.
     */
    bool fencing = true;

    /// Lifetime of a fencing counter, from 1 minute to 10 years. A client that uses a counter
    /// renews the full lifetime, at the latest when a quarter is left. So a counter outlives its
    /// last use by at least a quarter of the lifetime. An expired counter begins again with the
    /// date.
    ///
    /// All clients of a resource must have the same value. If the values differ, the shortest
    /// counts. Tokens stay in order unless a node's date is set back by more than this value less
    /// two seconds. Changes at different times add up.
    ///
    /// One day by default. A resource that is used every few hours keeps its counter, and the
    /// counter of an unused resource does not take memory for long.
    std::chrono::milliseconds counter_ttl{std::chrono::hours{24}};

    /// Maximum number of acquires, adopts and inspects that have begun and not completed, without
    /// waiters. One more completes with `errc::overloaded`. At least 1. One million by default: the
    /// limit stops a faulty program, and normal work stays far below it. Held locks come before new
    /// ones:
    /// - Extends have a limit of their own, of the same size.
    /// - Releases, renewals and waits for a loss have no limit.
    /// - Acquires in a wait queue count in `max_waiters` instead.
    /// - An acquire counts, but is not refused, if its reentrant owner holds the lock already.
    ///
    /// `stats::in_flight` counts more: all operations that have begun and not completed.
    std::size_t max_in_flight = 1'000'000;

    /// Maximum number of waiters in all wait queues of the client. One more completes with
    /// `errc::too_many_waiters`. Zero: an acquire that would have to wait completes with that error
    /// at once.
    ///
    /// A waiter does not count in `max_in_flight`, but its acquire needs room there to begin. The
    /// leader of a queue, which asks the nodes, counts in `max_in_flight` and not here. So does an
    /// acquire of several resources.
    ///
    /// One million by default. A waiter takes about 800 bytes, or about 1300 bytes if each waiter
    /// waits for another resource.
    std::size_t max_waiters = 1'000'000;
    /// Maximum number of waiters for one resource, otherwise as `max_waiters`. 100 000 by default:
    /// more than the client can serve within the timeout of an acquire.
    std::size_t max_waiters_per_resource = 100'000;

    /// Maximum number of bytes that are queued for one node and not yet written. A node at this
    /// limit counts as stalled. At least 1 MiB. 64 MiB by default: the requests of 400 000 locks at
    /// once.
    std::size_t max_buffered_bytes = 64 * 1024 * 1024;

    /**
     * Maximum number of pending releases of one node. Zero: no pending releases. 100 000 by
     * default: more than a busy client releases while a node restarts.
     *
     * A release is pending while its node is away, and while a late SET may still create the key.
     * Expiry repairs of fencing counters count, too. At the limit the client drops in this order:
     * - an expiry repair, so that a counter may have no ttl until its resource is locked again
     * - a release that was sent before, whose keys expire by themselves
     * - the oldest release, whose keys expire by themselves
     */
    std::size_t max_pending_releases = 100'000;

    /// Restart guard, which quarantines nodes that may have forgotten locks. Empty by default: the
    /// client trusts the nodes to keep their keys.
    std::optional<guard_config> restart_guard{};

    /// Provider of user and password before each connection, in place of the ones in the URLs. It
    /// serves passwords that change while the client runs. Empty by default: the client logs in as
    /// the URLs say.
    credentials_provider credentials{};

    /// TLS settings of the `rediss://` nodes.
    tls_config tls{};

    /// Whether any thread may call the client and its locks at any time. The client then makes a
    /// strand for itself. Off by default.
    bool thread_safe = false;

    /// Receiver of log lines. Empty by default: no log.
    log_sink log{};

    /// Receiver of the renewals and losses of kept-alive locks. Empty by default: no receiver.
    renewal_sink on_renewal{};
};

/// Options of one acquire. All options are trivially copyable, because GCC 12 destroys an object
/// twice that a `co_await` expression creates.
struct acquire_options {
    /// Lifetime of the lock unless it is extended. At least four times `config::node_timeout`, at
    /// most 10 years, and at most `guard_config::max_ttl` under the restart guard. 10 s by default.
    /// If the holder dies, others wait that long.
    std::chrono::milliseconds ttl{10'000};

    /// Maximum time that the acquire goes on trying. Zero: one attempt, and no waiting. Never
    /// negative. 10 s by default, like the ttl: about as long as the lock of a dead holder lasts.
    std::chrono::milliseconds timeout{10'000};

    /// Maximum number of attempts. At least 1. Unlimited by default. One: the acquire does not
    /// enter the client's wait queue either.
    std::uint32_t max_attempts = unlimited;

    /**
     * Longest outage that the acquire waits through. An outage is a time without a majority of the
     * nodes. Never negative.
     *
     * - Once an outage has lasted this long, the acquire ends `unavailable`.
     * - While another holder has the lock, the acquire still waits until its deadline.
     * - The time counts from the beginning of the outage, even if that was before the acquire.
     * - A client without a majority is in an outage from `async_run` on, also while it connects for
     *   the first time. So allow for the time that connecting takes.
     * - Zero: the first attempt without a majority ends the acquire. While the client connects for
     *   the first time, the acquire ends 100 ms after `async_run`, or at once if it begins later.
     * - Empty, the default: the acquire waits through every outage that can end by itself. It ends
     *   at once if there is no majority because nodes refuse user, password or database.
     */
    std::optional<std::chrono::milliseconds> max_outage{};

    /// Minimum validity that must be left when the acquire wins the lock. The client releases a
    /// lock with less. Zero by default: any validity above zero is enough.
    std::chrono::milliseconds min_validity{0};

    /// Whether the lock gets a fencing token. Empty by default: as `config::fencing` says.
    std::optional<bool> fencing{};
    /// Options of the renewals that keep the lock until it is released or lost. Empty by default:
    /// no renewals, so the lock ends with its ttl.
    std::optional<redlock::keep_alive> keep_alive{};

    /**
     * Reentrant owner of the lock. Null by default: the acquire belongs to no owner, and waits for
     * every other holder.
     *
     * If this owner already holds the resource by a lock of this client, the acquire gets a further
     * hold of that lock:
     * - The client asks no node if the lock has a validity of at least `min_validity`. If
     *   `min_validity` is zero, half of the validity that `ttl` gives is enough.
     * - Otherwise the client first extends the lock by `ttl`.
     *
     * All holds share validity and tokens. The client keeps the lock alive while one of its holds
     * asks for that. The release of the last hold releases the lock on the nodes.
     *
     * The owner object must live until the acquire begins, as the resource's name must.
     */
    const redlock::reentrant_owner* reentrant_owner = nullptr;

    /**
     * Label that names the holder for other clients, for example with host, process and task. Other
     * clients read it in `inspection::holder_label` and `report::holder_label`. Empty by default:
     * no label, and no further commands.
     *
     * A label has at most `max_label_size` bytes of text without control characters. It must
     * contain no secret: everyone who may read the nodes may read the label. The text must live
     * until the acquire begins.
     *
     * The client writes the label to a key with the resource's name and ":redlock:holder" at its
     * end. It writes the label once it has the lock and with each extend, with one more command a
     * node each time. If that key has a value that is no label, the client does not change it.
     *
     * The label has no part in the vote, and a node that refuses it keeps its vote. A further hold
     * of a reentrant owner keeps the label of the first. A client that adopts the lock reads its
     * label and keeps it.
     */
    std::string_view label{};

    /// Report that the client fills after each attempt, and before the handler runs. It must live
    /// until then. Null by default: no report.
    redlock::report* report = nullptr;
};

/// Options of one extend.
struct extend_options {
    /// Report that the client fills before the handler runs. The report must live until then. Null
    /// by default: no report.
    redlock::report* report = nullptr;
};

/// Options of one release.
struct release_options {
    /// Report that the client fills before the handler runs. The report must live until then. Null
    /// by default: no report.
    redlock::report* report = nullptr;
};

/// Options of one inspect.
struct inspect_options {
    /// Report that the client fills before the handler runs. The report must live until then. Null
    /// by default: no report.
    redlock::report* report = nullptr;

    /// Whether the inspect waits for the answer of every node, for at most `config::node_timeout`.
    /// Off by default: the inspect completes once a majority has decided. Set it to see the answers
    /// of all nodes.
    bool every_node = false;

    /// Owner token of a lock, as `lock::owner_token` returns it: `inspection::own_group` then shows
    /// which nodes have keys of that lock. Empty by default: no lock. Any other text is refused as
    /// `errc::invalid_owner_token`. Like the name of the resource, the text must live until the
    /// operation begins.
    std::string_view owner_token{};
};

}  // namespace redlock
