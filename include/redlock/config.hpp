#pragma once

#include <redlock/credentials.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/log.hpp>
#include <redlock/owner.hpp>
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

/// The longest resource name, in bytes. A name may hold any bytes, NUL and line ends too, but not
/// end with ":fencing" or ":redlock:holder": those are the names of the keys beside a lock, its
/// fencing counter and the label of its holder.
inline constexpr std::size_t max_resource_size = 64 * 1024;

/// How many resources one lock may be of; their names are at most `max_resource_size` in sum.
inline constexpr std::size_t max_resources = 128;

/// The longest `acquire_options::label`, in bytes.
inline constexpr std::size_t max_label_size = 256;

/// The most nodes a client takes.
inline constexpr std::size_t max_nodes = 32;

/// How to prove who the other side is, for nodes given as `rediss://`. File names; empty means
/// none. Before each connection the client looks whether a file has changed, and if so loads all of
/// them again. If the new files can't be loaded, the client keeps the ones it has, logs a warning,
/// and tries again before the next connection. Connections that exist are left as they are.
struct tls_config {
    /// Certificates to trust, PEM. Empty: the system's, loaded once.
    std::string ca_file{};
    /// The client's own certificate chain, PEM; needs the key. Empty: the client proves nothing.
    std::string certificate_file{};
    /// The private key of `certificate_file`, PEM, not encrypted; needs the certificate.
    std::string key_file{};
    /// The name to ask for (SNI) and to find in the certificate. Empty: the host of the node's URL.
    std::string server_name{};
    /// Connects to a server that proves nothing. For experiments; said aloud in the log.
    bool insecure_skip_verification = false;
};

/**
 * Keeps a node that may have forgotten locks out of votes until those have expired, as after a
 * restart without its data, a FLUSHALL or a failover. It protects only where every client of these
 * nodes has it, with the same values: others can still vote an empty master in.
 *
 * A node that lost its keys is told by a marker it has lost with them. From when a client sees
 * that, the node is in quarantine: until `max_ttl` and the drift have passed by that client's
 * boot-time clock, or another client had waited so long, its votes do not count.
 *
 * Each node's user has to be permitted INFO and TIME, and a node with a `maxmemory` must not evict.
 * A node where that is not so, or whose marker is of clients with another `max_ttl`, `drift_factor`
 * or number of nodes, is not used; the log and the reports say why.
 */
struct guard_config {
    /// The longest ttl of any lock that any client takes or extends with these nodes and this
    /// `key_prefix`; a longer one is refused with `errc::invalid_ttl`. At least four times
    /// `config::node_timeout`, at most 10 years.
    std::chrono::milliseconds max_ttl{0};

    /// A node without a marker is admitted at once if this client's first attempt to connect to it
    /// succeeds: for the first client of masters that are new. A master that lost its keys looks
    /// the same, so this is to be set once and not to be kept; said aloud in the log.
    bool admit_new_masters = false;
};

/**
 * How a client finds its nodes and how patient it is with them. Validated once, when the client is
 * made:
 * a value that makes no sense throws `boost::system::system_error` with `errc::invalid_config`, its
 * text naming the field. No timeout or wait may be longer than 24 hours.
 */
struct config {
    /**
     * The masters, 1 to 32 of them, independent of each other; a majority of all listed is needed.
     * `redis://[user[:password]@]host[:port][/db]`, `rediss://...` for TLS, `unix:///path[?db=n]`;
     * `valkey://` and `valkeys://` mean the same as `redis://` and `rediss://`. IPv6 in brackets,
     * percent-encoding where a character has a meaning. Two addresses of one
     * server are refused, as far as their text tells, whatever their databases. Names are looked
     * up in turn, in the one thread that an execution context has for it: where a name server may
     * hang, IP addresses are safer.
     * `?durable=1` (`?db=n&durable=1` of a unix socket) takes a node out of the `restart_guard`: it
     * never loses a key that it has acknowledged, not by a restart (`appendfsync always`), a
     * failover or a FLUSHALL.
     */
    std::vector<std::string> nodes{};

    /// Put before every resource to make the key, at most 1 KiB. Empty: the resource is the key, as
    /// other clients write it.
    std::string key_prefix{};

    /// The name connections give themselves at the server (CLIENT LIST): printable, without spaces.
    /// Empty: none.
    std::string client_name = "redlock";

    /// How long one node may take to answer one command. Positive, at most `stall_timeout`, and at
    /// most a quarter of every ttl used: above 2.5 s the default ttl of an acquire, 10 s, is
    /// refused as `invalid_ttl`. 50 ms: what the paper names, many round trips within one site, and
    /// little of a ttl; masters far away need more.
    std::chrono::milliseconds node_timeout{50};

    /// How far node clocks may run apart, as a share of the ttl: 0 to below 1. Zero: not at all; 2
    /// ms are taken off every validity all the same. The paper's allowance is 1 %.
    double drift_factor = 0.01;

    /// From the look-up of a name to a connection that is usable. Positive. 2 s: time for a first
    /// packet that is lost to be sent again, and for TLS. The reply of `credentials` has as long
    /// again, before the look-up.
    std::chrono::milliseconds connect_timeout{2000};

    /// The least wait between two attempts to connect. Positive. 10 ms: a server that restarts is
    /// found soon, and not stormed.
    std::chrono::milliseconds reconnect_min{10};
    /// The longest wait between two attempts to connect, random above the least. At least that. 2
    /// s: so late at most a node that is back gets its votes back.
    std::chrono::milliseconds reconnect_max{2000};

    /// A connection that leaves a command unanswered for so long is closed and made anew. At least
    /// `node_timeout`. 2 s: longer than a server that works is held up, as by a fork or a long
    /// script, whose answers are worth waiting for.
    std::chrono::milliseconds stall_timeout{2000};

    /// After so long without a reply a connection is asked whether it lives. Zero: never asked. 5
    /// s: a peer that has vanished is noticed before a lock is wanted of it, for one PING.
    std::chrono::milliseconds ping_interval{5000};

    /// Waits between two attempts of one acquire that no server will tell anything: random below a
    /// bound (full jitter), which starts here and doubles with each attempt. Zero: none at first,
    /// then below 1 ms; where `retry_max` is zero too, no wait at all. 5 ms: some round trips, so
    /// that those who met do not meet again.
    std::chrono::milliseconds retry_min{5};
    /// Where that bound stops growing, and, up to 250 ms, for how long at most a client that has a
    /// lock nearly all the time leaves it to others: every fifteen seconds for all of it. At least
    /// `retry_min`. 250 ms: the most that a free lock waits for who has waited long.
    std::chrono::milliseconds retry_max{250};

    /**
     * A back-off of one's own: how long to wait before the next attempt, told how many were made
     * and what `retry_min` and `retry_max` would give. Below zero counts as zero, and the deadline
     * and the ttl of the lock in the way end the wait sooner. Called on the client's executor, and
     * not to call the client; what it throws is logged, and nothing comes of it. Empty: as those
     * two say.
     */
    std::function<std::chrono::nanoseconds(std::uint32_t attempts, std::chrono::nanoseconds wait)>
        back_off{};

    /**
     * Whether who was refused asks a server to tell when the lock is free, instead of asking for it
     * again and again. What servers tell is a hint: one that is lost costs a wait of `poll_max`.
     * Servers without RESP3, and users that are not permitted CLIENT TRACKING, do without.
     */
    bool wake_ups = true;

    /// The longest wait between two attempts of one acquire that is to be told when the lock is
    /// free; it ends with the ttl of the lock in its way. Positive. 1 s: what a hint that is lost
    /// costs, and so often who waits is heard of. Where a client waits for more resources than
    /// `poll_max` has milliseconds, it is a millisecond for each of them, so that very many look
    /// about a thousand times a second, all of them together, and when a ttl ends.
    std::chrono::milliseconds poll_max{1000};

    /// How long `async_close` waits for releases that are still going out. Zero: not at all. 500
    /// ms: ten node timeouts; what has no answer by then has none soon, and its keys expire.
    std::chrono::milliseconds close_timeout{500};

    /**
     * Whether locks get fencing tokens, unless an acquire says otherwise: a number for each lease
     * that is unique, and greater than that of any lease whose token was known before, as long as
     * nodes keep their counters: what that takes, and what the restart guard does for it, is in
     * docs/design/safety.md. Nodes keep a counter beside each resource, named like it with
     * ":fencing" behind. A majority of them has to agree about the date to within a second, or a
     * quarter of `guard_config::max_ttl`; else acquires of resources that are new end
     * `unavailable`. So do those of a resource whose counters were begun while dates differed, if a
     * majority is not left without such a node.
     */
    bool fencing = true;

    /// How long a fencing counter lives. Who uses it gives it this life anew, at the latest when a
    /// quarter is left: so it outlives its last use by a quarter at least. A minute to 10 years,
    /// and the same for all clients of a resource: where it is not the shortest counts. A day: a
    /// resource used every few hours keeps its counter, and one that is not costs no memory for
    /// long; a counter that is gone begins anew with the date. Tokens stay in order as long as no
    /// node's date is set back by more than this less two seconds in all, whenever that is.
    std::chrono::milliseconds counter_ttl{std::chrono::hours{24}};

    /// Operations begun and not completed; one more completes with `errc::overloaded`. At least 1.
    /// What is held comes before what is wanted: extends have a bound of their own, of the same
    /// size; releases, renewals and those who wait for a loss have none, and count for nobody. A
    /// million: a bound for what has gone wrong rather than one to meet.
    std::size_t max_in_flight = 1'000'000;

    /// Acquires that stand in line behind others of the client, which take no room of
    /// `max_in_flight`, though one has to be there when they begin; one more completes with
    /// `errc::too_many_waiters`. Who stands in front and asks the nodes, and acquires of several
    /// resources, are not counted here, but in `max_in_flight`. Zero: one that would have to stand
    /// in line does so at once. A million: some 800 bytes each, and some 1300 where each waits for
    /// another resource.
    std::size_t max_waiters = 1'000'000;
    /// The same for one resource. 100 000: more than are served within any deadline.
    std::size_t max_waiters_per_resource = 100'000;

    /// Bytes queued for one node and not yet written; a node that is full counts as stalled. At
    /// least 1 MiB. 64 MiB: what 400 000 locks ask for at once.
    std::size_t max_buffered_bytes = 64 * 1024 * 1024;

    /// Releases owed to one node: while it is away, and of keys that may come to life yet. The
    /// oldest are given up first (their keys expire), before them what else is owed: ttls of
    /// fencing counters that may have none. Zero: nothing is owed. 100 000: more than a busy client
    /// gives back while a master restarts.
    std::size_t max_debts = 100'000;

    /// Keeps nodes that may have forgotten locks out of votes. Empty: their keys are trusted to
    /// last.
    std::optional<guard_config> restart_guard{};

    /// Gives user and password before each connection, in place of those in the URLs: for passwords
    /// that change while the client runs. Empty: the URLs' own.
    credentials_provider credentials{};

    /// For the `rediss://` nodes.
    tls_config tls{};

    /// Puts a strand round the client, so that any thread may call it and its locks at any time.
    bool thread_safe = false;

    /// Where log lines go. Empty: nowhere.
    log_sink log{};

    /// Where the news of locks that are kept alive go. Empty: nowhere.
    renewal_sink renewals{};
};

/// What one acquire wants. Trivially copyable, as all options are: GCC 12 destroys twice what is
/// made within a `co_await` expression.
struct acquire_options {
    /// How long the lock lives unless extended. At least four times `config::node_timeout`, at most
    /// 10 years, and `guard_config::max_ttl` under the restart guard. 10 s: what others wait for if
    /// its holder dies.
    std::chrono::milliseconds ttl{10'000};

    /// How long to go on trying. Zero: one attempt, no waiting. Never negative. 10 s, as the
    /// ttl is: about as long as a dead holder's lock is in the way.
    std::chrono::milliseconds deadline{10'000};

    /// How many attempts at most. At least 1. One: it does not wait behind others of the client
    /// either.
    std::uint32_t attempts = unlimited;

    /**
     * The longest outage that the acquire waits through, where an outage is a time without a
     * majority of the nodes: it ends `unavailable` once an outage has lasted this long, and still
     * waits until `deadline` while another holder has the lock. An outage counts from its begin,
     * also if that was before the acquire. The first connections of a client have
     * `config::connect_timeout`. Zero: the first attempt without a majority ends the acquire. Never
     * negative. Empty, the default: every outage, unless it has no end by itself: if a majority
     * cannot be had because nodes refuse user or password, the acquire ends at once.
     */
    std::optional<std::chrono::milliseconds> max_outage{};

    /// A lock with less validity left than this, when it is had, is given back. Zero: any validity
    /// above zero will do.
    std::chrono::milliseconds min_validity{0};

    /// Whether the lock gets a fencing token. Empty: as `config::fencing` says.
    std::optional<bool> fencing{};
    /// Keeps the lock alive until it is given back or lost. Empty: it ends with its ttl.
    std::optional<redlock::keep_alive> keep_alive{};

    /**
     * On whose behalf. Where this owner holds the resource already, by a lock of this client, that
     * lock is given a further hold: without asking a node if its validity is `min_validity` or,
     * with that at zero, half of what `ttl` gives; else it is extended by `ttl` first. The nodes
     * are given the lock back by the last of its holds. All of them share validity and tokens, and
     * the lock is kept alive while one of them is there that wants it. Null: nobody's in
     * particular, who waits for everybody. Must live until the acquire is begun, as the name of the
     * resource must.
     */
    const redlock::owner* owner = nullptr;

    /**
     * Names the holder for others, who find it in `inspection::holder_label` and
     * `report::holder_label`: for example a host, a process and what it does. At most
     * `max_label_size` bytes of text without control characters, and no secrets: whoever may read
     * the nodes may read it. The client writes it to a key of its own, named like the resource with
     * ":redlock:holder" at the end, once it has the lock and with each extend: one more command a
     * node each time. A value of that key that is no label stays as it is. The label has no part in
     * the vote, and a node that refuses it keeps its vote. A further hold of a reentrant owner
     * keeps the label of the first. A client that adopts the lock reads its label, and keeps it.
     * Empty: none, and no more commands. Must live until the acquire begins.
     */
    std::string_view label{};

    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;
};

/// What one extend wants.
struct extend_options {
    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;
};

/// What one release wants.
struct release_options {
    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;
};

/// What one inspect wants.
struct inspect_options {
    /// Filled before the handler runs, if not null. Must live until then.
    redlock::report* report = nullptr;

    /// Whether it waits for what each node says, `config::node_timeout` at most, and not only until
    /// a majority has decided: for who wants to see all of them.
    bool every_node = false;
};

}  // namespace redlock
