#pragma once

#include "sim/clock.hpp"
#include "sim/model_master.hpp"
#include "sim/random.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

class world;

/// Bytes on their way in one direction, in order. What was sent is not lost before its link is.
struct pipe {
    struct chunk {
        instant at{};
        std::string bytes{};
        bool is_end = false;
        /// When the node did the last lock command that is answered here.
        instant proof{};
    };
    std::deque<chunk> chunks;
    instant last{};
    /// Until then nothing gets through.
    instant blocked_until{};
    /// Bytes of it were lost, and so are all behind them.
    bool torn = false;
};

/// What a node has said about a token, or a counter, in the bytes of a link up to there.
struct vote {
    enum class kind : std::uint8_t {
        granted,
        refused,
        counted,   ///< by an attempt that was granted
        released,  ///< or had nothing to release
        begun,     ///< a counter that was not there
    };
    std::uint64_t end = 0;
    kind what{};
    std::string token{};      ///< or the key of the counter
    std::int64_t value = 0;   ///< of the counter; zero: nobody is known to have voted it
    bool is_unheard = false;  ///< comes after a reply at which the client closes the connection
};

/// A connection, or the attempt to make one, from its first packet until both ends have forgotten
/// it.
struct link {
    std::uint64_t id = 0;
    unsigned client = 0;
    unsigned generation = 0;
    unsigned node = 0;
    instant dialled{};
    bool client_end = true;   ///< the client's side is open, or being opened
    bool server_end = false;  ///< the node's side is open
    bool ends = false;        ///< the end has come to a node that stands still
    bool refused = false;
    /// Nobody tells the client that the other end is gone.
    bool half_open = false;
    pipe up;
    pipe down;
    test::session session;
    /// Read by the node, and not yet a whole command or not yet done.
    std::string unread;
    /// Bytes to the client: sent, and come to it; and what it has not been told by them yet.
    std::uint64_t said = 0;
    std::uint64_t heard = 0;
    std::deque<vote> votes;
    /// The client closes it once it has read the last reply.
    bool is_left = false;
    /// The tokens of what was granted to it last, by the keys of their counters.
    std::map<std::string, std::string> granted;
};

/// All connections, and what is on them.
class network {
public:
    explicit network(world& w);

    link& dial(unsigned client, unsigned generation, unsigned node);
    void send_up(link& l, std::string_view bytes);
    /// `is_of_raise`: with the answer to a raise in it.
    void send_down(link& l, std::string_view bytes, instant proof, bool is_of_raise = false);
    /// The client closes its end. What it sent gets there, or the front part of it.
    void close_by_client(link& l);
    /// The node's end is gone at once, as its process is.
    void close_by_server(link& l);
    /// Both ends lose it, each with the front part of what was on its way.
    void cut(link& l);

    void on_bytes_up(link& l);
    void on_bytes_down(link& l);
    void on_dialled(link& l);
    void on_told_closed(link& l);

    [[nodiscard]] link& at(std::uint64_t id) { return *links_[id]; }
    [[nodiscard]] std::vector<link*> between(unsigned client, unsigned node);
    [[nodiscard]] std::vector<link*> of_node(unsigned node);
    /// Bytes that could still reach a node.
    [[nodiscard]] bool is_something_under_way() const;
    void unblock();
    /// What was held up on its way to the node and from it.
    void let_through(unsigned node);

private:
    [[nodiscard]] nanos way(bool up);
    void send(link& l, bool up, std::string_view bytes, instant proof);
    void put(link& l, bool up, pipe::chunk c);
    void send_off(link& l, bool up, pipe::chunk& c);
    [[nodiscard]] bool spoil_raise(link& l, bool up);
    void lose_some(link& l, bool up);
    void end(link& l);
    bool take(link& l, bool up, pipe::chunk& c);
    void tell_client(link& l);

    world& w_;
    random_source ways_;
    random_source pieces_;
    random_source losses_;
    random_source raises_;
    std::vector<std::unique_ptr<link>> links_;
};

}  // namespace redlock::sim
