#pragma once

#include <redlock/detail/asio_built_with.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// @cond
namespace redlock::testing {

template <class Setting>
struct library_built_with {
    static void here() noexcept;
};

[[REDLOCK_KEPT]] static constexpr auto& required_by_nodes =
    setting::in_asio<>::with<library_built_with>;

}  // namespace redlock::testing
/// @endcond

/// Doubles for tests of code that uses locks. They come with `redlock::testing`, a library of its
/// own, which needs nothing of the client.
namespace redlock::testing {

/// What a node should know of the clients that will use it.
struct node_options {
    /// Their `config::key_prefix`: put before every resource that is named below to make the key.
    std::string key_prefix{};
};

/**
 * A Redis master for tests, on a port of the loopback: the client connects to it as to any other,
 * and its code is what it is in production. Left alone it is willing and does what a real one does
 * for locks: keys and their ends, scripts, fencing counters, what it tells of keys to who wants to
 * know. It does no more than that: whatever else is asked of it is answered with an error.
 *
 * Three of them are a majority of masters that fail when a test says so:
 *
 *     std::array<redlock::testing::scripted_node, 3> nodes;
 *     redlock::client locks(context, {.nodes = {nodes[0].url(), nodes[1].url(), nodes[2].url()}});
 *     nodes[2].freeze();
 *
 * A test that ends is to destroy its client before its nodes, or else the client sees them go, as
 * it would see masters go.
 *
 * Time is the machine's own. A ttl of 200 ms is the least with the default
 * `config::node_timeout`, and it ends after 200 ms.
 *
 * Thread safety: all functions may be called from any thread at any time, but those that make, move
 * and destroy the object. What was moved from can be assigned to and destroyed, and nothing else.
 */
class scripted_node {
public:
    /// What a node without a thread of its own runs on.
    using executor_type = boost::asio::any_io_executor;

    class reply;

    /// What a node that restarts has left of its keys.
    enum class keys : std::uint8_t {
        /// All of them, as one that writes through.
        kept,
        /// None, as one that writes nothing down.
        lost
    };

    /// Answers every command of its kind from now on.
    static constexpr std::size_t always = std::numeric_limits<std::size_t>::max();

    /// A node with a thread of its own.
    /// @throws boost::system::system_error where there is no port, `std::system_error` where there
    /// is no thread.
    scripted_node() : scripted_node(node_options{}) {}
    /// The same, for clients with settings of their own.
    explicit scripted_node(const node_options& options);

    /// A node that runs on `ex`, for tests of one thread. It listens as long as it lives, which is
    /// work: the context's `run` does not return before. It has to go before its context.
    /// @throws boost::system::system_error where there is no port.
    explicit scripted_node(const executor_type& ex, const node_options& options = {});

    /// The same on the executor of a context.
    template <std::derived_from<boost::asio::execution_context> ExecutionContext>
    explicit scripted_node(ExecutionContext& context, const node_options& options = {})
        : scripted_node(executor_type(context.get_executor()), options)
    {}

    /// The node goes along, with its port, its keys and its connections.
    scripted_node(scripted_node&&) noexcept;
    /// Ends what this one was, as its destructor does.
    scripted_node& operator=(scripted_node&&) noexcept;
    scripted_node(const scripted_node&) = delete;
    scripted_node& operator=(const scripted_node&) = delete;
    /// Cuts all connections.
    ~scripted_node();

    /// What `config::nodes` wants: `redis://127.0.0.1:port`.
    [[nodiscard]] std::string url() const;
    /// The port, which stays the node's own while it refuses connections, and when it restarts.
    [[nodiscard]] std::uint16_t port() const noexcept;

    /**
     * Gives a resource to a stranger, for `ttl` from now on, whoever had it here. On a majority it
     * is `errc::contended` to who wants it, and lost to who had it.
     *
     * It is so at once, also on a node that is frozen, slow or full: commands that have come and
     * were not done yet find the stranger there. That goes for a lock that is just being taken:
     * where its SET has not been done, it is refused by this node rather than lost on it. Who
     * wanted to know of the key is told, by a frozen node when it thaws. Fencing counters stay as
     * they are.
     *
     * A ttl that the clock cannot count to has no end.
     *
     * @throws std::invalid_argument for a ttl that is not positive.
     */
    void hold(std::string_view resource, std::chrono::milliseconds ttl);
    /// Whether the node has a key of the resource, the stranger's or a client's, that has not
    /// ended.
    [[nodiscard]] bool held(std::string_view resource) const;
    /// Deletes the key of a resource, whoever's it is, and tells who wanted to know. On a majority
    /// the lock is lost, or free again: drop it on all nodes, since of a lock that was just taken
    /// one may not have the key yet.
    void drop(std::string_view resource);

    /**
     * Answers commands with `r` instead of doing them, or loses them or their replies: the next
     * `times` of them that begin to be done from now on. `command` is a name, in capitals or not
     * ("SET", "HELLO"), with its second word if that matters ("CLIENT TRACKING"), or what a script
     * of the library is for: "release", "extend", "take" (a lock of several resources), "inspect",
     * "count" (a fencing counter that the client does not know yet; from then on "INCR"), "raise"
     * (counters that differ), "admit" (the restart guard), "label" (of a holder).
     *
     * Of several answers for one command each has its turn; one for `always` is replaced by the
     * next.
     *
     * @throws std::invalid_argument for a command that the node does not know, with those that it
     * does. Clients of redlock send no others, so that an answer for one would never be given.
     */
    void answer(std::string_view command, reply r, std::size_t times = always);

    /// Stands still, as a process that is stopped: accepts and reads, does and answers nothing.
    void freeze();
    /// Goes on: does and answers what has come meanwhile, also of those who have gone.
    void thaw();
    /// Does and answers each command that comes from now on so much later. Zero: at once; a span
    /// that the clock cannot count to: not before `recover`.
    /// @throws std::invalid_argument for a negative span.
    void delay(std::chrono::milliseconds span);

    /// Has no memory to spare from now on: what takes more is refused with OOM, and locks can be
    /// extended and released, but not taken.
    void fill();
    /// Has room again.
    void make_room();

    /// Cuts all connections. What has come over them and was not done is never done. The client
    /// connects again.
    void disconnect();
    /// Refuses new connections from now on. Those that there are stay; with `disconnect` behind it
    /// the node is down.
    void refuse();
    /// Accepts new connections again.
    /// @throws boost::system::system_error where it cannot listen: somebody else does on its port,
    /// or the process has no descriptor left. It refuses as before then.
    void accept();
    /// Cuts all connections, and is another process from then on, without the scripts that were
    /// loaded, and with what is left of its keys. Accepts if it did before.
    void restart(keys left);

    /// Is willing again: none of the answers, freeze, delay, lack of memory or refusal is left. Its
    /// keys stay as they are.
    /// @throws boost::system::system_error where it refused and cannot listen, as in `accept`.
    /// Nothing has changed then.
    void recover();

    /**
     * The commands that have come so far, of all connections in the order in which they came, those
     * of the client's handshake among them. One line each: the name, in capitals, of scripts what
     * they are for, in small letters, and the keys: "SET orders/42", "release orders/42",
     * "CLIENT TRACKING". Keys are whole, with the prefix; `count` takes the resource without it.
     * Never what else it said: no owner token, no password; "?" for what the node does not know.
     *
     * They take memory, some hundred bytes each, until they are cleared.
     */
    [[nodiscard]] std::vector<std::string> commands() const;
    /// Forgets the commands that have come so far: `commands` and `count` begin anew.
    void clear_commands();
    /// How many of the commands are called so, by the names that `answer` takes: `count("SET")`,
    /// `count("CLIENT TRACKING")`, `count("release")`.
    /// @throws std::invalid_argument for a command that the node does not know, as `answer`.
    [[nodiscard]] std::size_t count(std::string_view command) const;
    /// How many of them were about a resource, it alone or with others. It has to be its whole
    /// name; a fencing counter has one of its own: `count("SET", "orders/42")`,
    /// `count("INCR", "orders/42:fencing")`.
    /// @throws std::invalid_argument for a command that the node does not know, as `answer`.
    [[nodiscard]] std::size_t count(std::string_view command, std::string_view resource) const;
    /// The connections there are now.
    [[nodiscard]] std::size_t connections() const;

private:
    struct parts;

    std::unique_ptr<parts> parts_;
};

/// What a command is answered with instead of being done; or that it is lost on its way, or its
/// reply on the way back.
class scripted_node::reply {
public:
    /// As servers refuse: one line, its first word in capitals, as in "LOADING not yet".
    [[nodiscard]] static reply error(std::string_view line);
    /// What a SET is answered that has set the key.
    [[nodiscard]] static reply ok();
    /// What a SET with NX is answered where there is a key already, and a GET where there is none.
    [[nodiscard]] static reply null();
    /// A number: what release and extend are answered, 1 where the key was the asker's, else 0.
    [[nodiscard]] static reply integer(std::int64_t n);
    /// Anything else, or nonsense: what goes over the wire, line ends included.
    [[nodiscard]] static reply bytes(std::string raw);

    /// The command is lost: it is not done, and the connection is cut instead of a reply. Replies
    /// to earlier commands are sent before; later ones that came over that connection are lost too.
    [[nodiscard]] static reply command_lost();
    /// The reply is lost: the command is done, which the client never hears of, as the connection
    /// is cut instead. Commands before it and behind it fare as with `command_lost`.
    [[nodiscard]] static reply reply_lost();

private:
    friend class node_server;

    /// A null has other bytes in RESP2 than in RESP3.
    enum class kind : std::uint8_t { bytes, null, command_lost, reply_lost };

    explicit reply(kind what, std::string bytes = {}) : kind_(what), bytes_(std::move(bytes)) {}

    kind kind_;
    std::string bytes_;
};

}  // namespace redlock::testing
