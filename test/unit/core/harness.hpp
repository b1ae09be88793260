#pragma once

#include "core/client_core.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

using base::instant;
using base::nanos;
using namespace std::chrono_literals;

/// Owner tokens and back-offs from a seed. Some tests need the back-offs that seed 1 gives here.
class twister_entropy final : public base::entropy {
public:
    explicit twister_entropy(std::uint32_t seed) : engine_(seed) {}
    [[nodiscard]] bool fill(std::span<std::byte> out) noexcept override
    {
        std::ranges::generate(out, [this] { return static_cast<std::byte>(engine_()); });
        return !broken;
    }
    bool broken = false;

private:
    std::mt19937 engine_;
};

/// An operation from its caller's view.
struct call {
    core::operation* op = nullptr;
    unsigned completions = 0;
    error_code error;
    /// The lease of a successful acquire or adopt.
    core::lease* held = nullptr;
    release_result released = release_result::not_held;
    redlock::inspection found;
    instant begun{};
    instant ended{};
    redlock::report report;

    [[nodiscard]] bool done() const { return completions > 0; }
};

/// The other end of a node's connection, and the way there and back.
struct peer {
    enum class dialling { at_once, refused, silent };

    // Switches for the test.
    dialling dial = dialling::at_once;
    /// The result of `config::credentials` for the node, if it is set. Unused while `dial` is
    /// silent.
    base::login given{};
    /// The model answers. Otherwise the test does, except for the handshake.
    bool automatic = true;
    /// The test answers the handshake too.
    bool manual_handshake = false;
    /// The node takes bytes and does nothing until it thaws.
    bool frozen = false;
    nanos way_there{};
    nanos way_back{};
    model_master master;

    // Events so far.
    bool connected = false;
    std::vector<instant> dials;
    unsigned connects = 0;
    unsigned closes = 0;
    unsigned writes = 0;
    std::size_t role_queries = 0;
    /// Commands for the test to answer, oldest first. Queries of the role and of a holder's label
    /// answer themselves in their turn.
    std::deque<words> asked;
    /// The present connection has ended its handshake, except for a ROLE.
    bool greeted = false;
    bool said_role = false;
    /// All commands on all connections, without the handshakes.
    std::vector<words> log;

    struct request {
        instant at;
        std::uint64_t connection;
        words command;
    };
    struct answer {
        instant at;
        std::string bytes;
    };
    std::uint64_t connection = 0;
    session speaks;
    std::deque<request> arriving;
    /// Commands of lost connections that are executed late.
    std::vector<request> strays;
    std::deque<answer> coming;
};

/**
 * A core with its environment: time, connections, nodes and callers. Each step runs
 * everything that can happen at the present instant.
 */
class bench_world {
public:
    explicit bench_world(unsigned nodes = 3, redlock::config c = {}, std::uint32_t seed = 1);
    ~bench_world();
    bench_world(const bench_world&) = delete;
    bench_world& operator=(const bench_world&) = delete;

    void start();
    /// Runs for `span`, through every instant at which something is due.
    void advance(nanos span);
    /// Runs everything that can happen now.
    void settle();

    call& acquire(std::string_view resource, const acquire_options& o = {});
    call& acquire(const std::vector<std::string>& resources, const acquire_options& o = {});
    call& adopt(std::string_view resource, const base::owner_token& owner, nanos ttl);
    call& adopt(const std::vector<std::string>& resources, const base::owner_token& owner,
                nanos ttl);
    call& extend(core::lease& l, nanos ttl);
    call& release(core::lease& l);
    call& inspect(std::string_view resource, bool every_node = false,
                  std::string_view owner_token = {});
    call& wait_lost(core::lease& l);
    void cancel(call& c);
    void drop(core::lease& l);
    void stop();

    /// An acquire that must succeed.
    core::lease& lock(std::string_view resource, const acquire_options& o = {});

    // For nodes that the test answers.
    void manual(bool on = true);
    /// Answers the oldest unanswered command.
    void answer(unsigned node, std::string_view bytes);
    /// Sends bytes from the node, whatever it was asked.
    void send(unsigned node, std::string_view bytes);
    /// The node ends the connection.
    void close(unsigned node, std::string_view reason = "closed by the node");
    /// Ends the connection of a node, which refuses the next ones.
    void lose(unsigned node);
    void bring_back(unsigned node) { peers[node]->dial = peer::dialling::at_once; }
    /// Before a close: only the first `kept` commands on their way arrive, after `delay`.
    void go_astray(unsigned node, std::size_t kept, nanos delay);
    void thaw(unsigned node);
    /// The first word of each unanswered command.
    [[nodiscard]] std::vector<std::string> pending(unsigned node) const;
    /// How often the client asked a node for its role after its handshakes.
    [[nodiscard]] std::size_t role_queries(unsigned node) const;

    // For all nodes.
    void set_dialling(peer::dialling how);
    void set_ways(nanos there, nanos back);
    void refuse(const std::string& command, const std::string& error);
    void refuse_nothing();
    void flush_keys();
    void flush_scripts();
    /// A stranger has the resource for this time.
    void occupy(const std::string& key, nanos span = 1h);
    /// The same on some nodes.
    void occupy(const std::string& key, std::initializer_list<unsigned> nodes, nanos span = 1h);

    /// How often a node got a command with this first word.
    [[nodiscard]] std::size_t count(unsigned node, std::string_view name) const;
    /// Live lock keys on all nodes, without fencing counters.
    [[nodiscard]] std::size_t keys() const;
    /// How many nodes can be used.
    [[nodiscard]] std::size_t ready() const { return core->snapshot().nodes_ready; }
    /// Why the client can't use a node, by a report. No node must have a vote.
    [[nodiscard]] std::string why_unused(unsigned node = 0);
    /// How many lines of the log, except for debugging, have this text.
    [[nodiscard]] std::size_t lines_with(std::string_view text) const;
    /// Nothing that belongs to an operation is in use.
    [[nodiscard]] bool is_idle() const;

    redlock::config config;
    base::settings settings;
    twister_entropy entropy;
    instant now{instant{} + 1000s};
    virtual_date date{now};
    std::vector<std::unique_ptr<peer>> peers;
    std::unique_ptr<core::client_core> core;
    std::vector<std::string> debug_lines;
    /// Without the lines for debugging.
    std::vector<std::string> log_lines;
    std::vector<log_level> log_levels;
    /// About locks that are kept alive.
    std::vector<renewal_outcome> news;
    /// For each of the news: the nodes' answers if the renewal failed.
    std::vector<std::unique_ptr<report>> failures;
    std::deque<call> calls;
    /// Whether the next operations want a report.
    bool with_report = false;
    /// Every n-th allocation in the core fails. Zero: none.
    unsigned fail_every = 0;

private:
    template <class What>
    void on_each_master(What what);
    template <class What>
    decltype(auto) inside(What what);
    template <class Begin>
    call& begin(Begin begin);
    bool close_given_up();
    void dial(unsigned node);
    void carry_out(unsigned node);
    bool serve_strays(unsigned node);
    bool take_finished();
    bool serve(unsigned node);
    bool deliver(unsigned node);
    [[nodiscard]] bool is_handshake(const peer& p, const words& w) const;
    [[nodiscard]] static bool is_role_query(const peer& p, const words& w);
    [[nodiscard]] static bool answers_itself(const peer& p, const words& w);
    [[nodiscard]] instant next_event() const;
};

/// A world that has started.
struct running_world : bench_world {
    explicit running_world(unsigned nodes = 3, redlock::config c = {}, std::uint32_t seed = 1)
        : bench_world(nodes, std::move(c), seed)
    {
        start();
    }
};

/// A world that has started and whose test answers for the nodes.
struct manual_world : running_world {
    explicit manual_world(unsigned nodes = 3, redlock::config c = {}, std::uint32_t seed = 1)
        : running_world(nodes, std::move(c), seed)
    {
        manual();
    }
};

/// The owner of a key that no client of the test has set.
inline constexpr const char* stranger = "somebody else's";

// Replies of nodes.
inline constexpr std::string_view ok = "+OK\r\n";
inline constexpr std::string_view nil = "_\r\n";
inline constexpr std::string_view yes = ":1\r\n";
inline constexpr std::string_view no = ":0\r\n";
inline constexpr std::string_view is_master = "$13\r\nrole:master\r\n\r\n";
inline constexpr std::string_view broken = "-OOM broken\r\n";

/// The URLs of nodes for a configuration.
[[nodiscard]] std::vector<std::string> node_urls(unsigned count);

[[nodiscard]] inline std::chrono::milliseconds ms(std::int64_t n)
{
    return std::chrono::milliseconds{n};
}

}  // namespace redlock::test
