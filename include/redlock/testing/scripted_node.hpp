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

/// Test doubles for code that uses locks. They come with `redlock::testing`, a library of its own,
/// which does not need the client.
namespace redlock::testing {

/// Settings of the clients that will use a node.
struct node_options {
    /// The clients' `config::key_prefix`. The node puts it before every resource that a test names,
    /// to make the key.
    std::string key_prefix{};
};

/**
 * A Redis node for tests, on a port of the loopback interface. The client connects to it as to any
 * other node, and runs the same code as in production.
 *
 * Unless a test disturbs it, the node does what a real one does for locks. It has keys that expire,
 * scripts and fencing counters, and it sends the notifications that clients ask for. It does no
 * more than that, and answers every other command with an error.
 *
 * Three of these nodes serve a client, and fail when a test says so:
 *
 *     std::array<redlock::testing::scripted_node, 3> nodes;
 *     redlock::client locks(context, {.nodes = {nodes[0].url(), nodes[1].url(), nodes[2].url()}});
 *     nodes[2].freeze();
 *
 * A test must destroy its client before its nodes. Otherwise the client sees the nodes fail, as it
 * would in production.
 *
 * Time is the machine's own. With the default `config::node_timeout` the shortest ttl is 200 ms,
 * and a lock with that ttl ends after 200 ms.
 *
 * Thread safety: any thread may call any function at any time. Construction, move and destruction
 * are the exceptions. A node that was moved from may only be assigned to or destroyed.
 */
class scripted_node {
public:
    /// Type of the executor for a node without a thread of its own.
    using executor_type = boost::asio::any_io_executor;

    class reply;

    /// Keys that a node still has after a restart.
    enum class keys : std::uint8_t {
        /// All keys, as on a node that writes through to its disk.
        kept,
        /// No keys, as on a node that writes nothing to its disk.
        lost
    };

    /// Number of times for `answer`: every matching command from now on.
    static constexpr std::size_t always = std::numeric_limits<std::size_t>::max();

    /// Makes a node with a thread of its own.
    /// @throws boost::system::system_error if there is no port, `std::system_error` if there is no
    /// thread.
    scripted_node() : scripted_node(node_options{}) {}
    /// The same, for clients with settings of their own.
    explicit scripted_node(const node_options& options);

    /// Makes a node that runs on `ex`, for tests with one thread. The node listens until it is
    /// destroyed. Listening counts as work, so the context's `run` does not return before. Destroy
    /// the node before its context.
    /// @throws boost::system::system_error if there is no port.
    explicit scripted_node(const executor_type& ex, const node_options& options = {});

    /// The same on the executor of a context.
    template <std::derived_from<boost::asio::execution_context> ExecutionContext>
    explicit scripted_node(ExecutionContext& context, const node_options& options = {})
        : scripted_node(executor_type(context.get_executor()), options)
    {}

    /// Takes over the node with its port, its keys and its connections.
    scripted_node(scripted_node&&) noexcept;
    /// Takes over the node, after ending this one as the destructor does.
    scripted_node& operator=(scripted_node&&) noexcept;
    scripted_node(const scripted_node&) = delete;
    scripted_node& operator=(const scripted_node&) = delete;
    /// Ends the node, and cuts all its connections.
    ~scripted_node();

    /// Returns the URL for `config::nodes`: `redis://127.0.0.1:port`.
    [[nodiscard]] std::string url() const;
    /// Returns the port. The node keeps its port while it refuses connections, and when it
    /// restarts.
    [[nodiscard]] std::uint16_t port() const noexcept;

    /**
     * Gives a resource on this node to a stranger, for `ttl` from now on, even if a client has it.
     * If the stranger has a majority, an acquire of the resource ends with `errc::contended`, and a
     * holder loses its lock.
     *
     * The change happens at once, also on a node that is frozen, slow or full:
     * - Commands that have arrived but are not done yet find the stranger's key. So if the SET of a
     *   lock is not done yet, this node refuses it. The lock is then not lost on this node.
     * - Clients that asked for a notification of the key get it. A frozen node sends the
     *   notification when it thaws.
     * - Fencing counters stay as they are.
     *
     * A ttl that the clock cannot count to has no end.
     *
     * @throws std::invalid_argument for a ttl that is not positive.
     */
    void hold(std::string_view resource, std::chrono::milliseconds ttl);
    /// Returns whether the node has a key of the resource that has not expired, the stranger's or a
    /// client's.
    [[nodiscard]] bool held(std::string_view resource) const;
    /// Deletes the key of a resource, whoever owns it, and notifies the clients that asked for it.
    /// On a majority the lock is then lost, or free again. Drop the key on all nodes: if the lock
    /// was just taken, one node may not have its key yet.
    void drop(std::string_view resource);

    /**
     * Answers commands with `r` instead of doing them, or loses them or their replies. This goes
     * for the next `times` matching commands that the node begins to do from now on. Zero changes
     * nothing. The case of letters in `command` does not matter. It is one of these:
     * - The name of a command, such as "SET" or "HELLO". The second word follows if it matters, as
     *   in "CLIENT TRACKING".
     * - The purpose of a script of the library: "release", "extend" or "inspect".
     * - "take", the script that takes a lock of several resources.
     * - "count", the script for a fencing counter that the client does not know yet. From then on
     *   the client sends "INCR".
     * - "align", the script that aligns counters that differ.
     * - "admit", the script of the restart guard.
     * - "label", the script for the label of a holder.
     * - "queue" and "leave", the scripts by which a waiting client asks for its place in the queue
     *   of a resource and leaves the queue.
     * - "queue_state", the script that tells how many clients wait.
     *
     * Several answers for one command take turns in the order of the calls. A further answer
     * replaces one for `always`.
     *
     * @throws std::invalid_argument for a command that the node does not know. The message has the
     * commands that it knows. Clients of redlock send no others, so an answer for one would never
     * be used.
     */
    void answer(std::string_view command, reply r, std::size_t times = always);

    /// Freezes the node, like a process that is stopped. It accepts connections and reads, but does
    /// and answers nothing.
    void freeze();
    /// Ends a freeze. The node does and answers the commands that have arrived meanwhile, including
    /// commands of clients that have gone.
    void thaw();
    /// Delays each command that arrives from now on: the node does and answers it `span` later.
    /// Zero: at once. A span that the clock cannot count to: not before `recover`.
    /// @throws std::invalid_argument for a negative span.
    void delay(std::chrono::milliseconds span);

    /// Sets whether the node is out of memory from now on. While it is, it answers commands that
    /// need more memory with the error OOM: locks can be extended and released, but not taken.
    void set_out_of_memory(bool on);

    /// Cuts all connections. Commands that arrived over them and were not done are never done. The
    /// client connects again.
    void disconnect();
    /// Refuses new connections from now on. Existing connections stay. After `refuse` and
    /// `disconnect` the node is down.
    void refuse();
    /// Accepts new connections again.
    /// @throws boost::system::system_error if the node cannot listen, because another socket does
    /// on its port or the process has no descriptor left. The node then refuses as before.
    void accept();
    /// Cuts all connections and continues as another process. That process has the keys that `left`
    /// says, and none of the scripts that were loaded. It accepts connections if the node did
    /// before.
    void restart(keys left);

    /// Ends every disturbance: answers, freeze, delay, lack of memory and refusal. The keys stay as
    /// they are.
    /// @throws boost::system::system_error if the node refused and cannot listen, as in `accept`.
    /// Nothing has changed then.
    void recover();

    /**
     * Returns the commands that have arrived so far, one line each. They come from all connections,
     * in the order of arrival. The client's handshake is among them. Examples are "SET orders/42",
     * "release orders/42" and "CLIENT TRACKING". A line has these parts:
     * - The name of the command in capitals, or the purpose of a script in small letters. "?" is a
     *   command that the node does not know.
     * - The whole keys, with the prefix. In contrast, `count` takes the resource without the
     *   prefix.
     * - No other argument, so no owner token and no password.
     *
     * The commands take memory, some hundred bytes each, until `clear_commands`.
     */
    [[nodiscard]] std::vector<std::string> commands() const;
    /// Forgets the commands that have arrived so far. `commands` and `count` start again.
    void clear_commands();
    /// Returns how many commands have a name that `answer` takes: `count("SET")`, `count("CLIENT
    /// TRACKING")`, `count("release")`. Releases of several locks that go out together are one
    /// command; so are extends.
    /// @throws std::invalid_argument for a command that the node does not know, as `answer`.
    [[nodiscard]] std::size_t count(std::string_view command) const;
    /// Returns how many of these commands concern a resource, alone or with others. `resource` is
    /// the whole name. A fencing counter has a name of its own: `count("SET", "orders/42")`,
    /// `count("INCR", "orders/42:fencing")`.
    /// @throws std::invalid_argument for a command that the node does not know, as `answer`.
    [[nodiscard]] std::size_t count(std::string_view command, std::string_view resource) const;
    /// Returns the number of connections that exist now.
    [[nodiscard]] std::size_t connections() const;

private:
    struct parts;

    std::unique_ptr<parts> parts_;
};

/// Reply to a command that the node does not do; or the loss of a command or of its reply.
class scripted_node::reply {
public:
    /// Error as a server sends it: one line with its first word in capitals, as in "LOADING not
    /// yet".
    [[nodiscard]] static reply error(std::string_view line);
    /// Reply to a SET that has set the key.
    [[nodiscard]] static reply ok();
    /// Reply to a SET with NX where there is a key already, and to a GET where there is none.
    [[nodiscard]] static reply null();
    /// Number. A release or an extend has the reply 1 where the key was the caller's, else 0.
    [[nodiscard]] static reply integer(std::int64_t n);
    /// Any other bytes, also malformed ones, as they go over the wire with their line ends.
    [[nodiscard]] static reply bytes(std::string raw);

    /// Loses the command: the node does not do it, and cuts the connection instead of a reply. The
    /// node sends replies to earlier commands before. Later commands that arrived over that
    /// connection are lost too.
    [[nodiscard]] static reply command_lost();
    /// Loses the reply: the node does the command, and cuts the connection instead of a reply. So
    /// the client never learns that the command was done. Earlier and later commands fare as with
    /// `command_lost`.
    [[nodiscard]] static reply reply_lost();

private:
    friend class node_server;

    /// A null is a kind of its own, since its bytes differ between RESP2 and RESP3.
    enum class kind : std::uint8_t { bytes, null, command_lost, reply_lost };

    explicit reply(kind what, std::string bytes = {}) : kind_(what), bytes_(std::move(bytes)) {}

    kind kind_;
    std::string bytes_;
};

}  // namespace redlock::testing
