#pragma once

#include "sim/clock.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/random.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

class world;

/// Bytes on their way in one direction, in order. Sent bytes are lost only with their link.
struct pipe {
    struct chunk {
        instant at{};
        std::string bytes{};
        bool is_end = false;
        /// When the node executed the last lock command that these bytes answer.
        instant proof{};
    };
    std::deque<chunk> chunks;
    instant last{};
    /// Nothing passes before this instant.
    instant blocked_until{};
    /// Some bytes were lost, and so are all later ones.
    bool torn = false;
};

/// The vote of a node for a token, or its news of a counter. `end`: where it ends in the bytes of
/// the link.
struct vote {
    enum class kind : std::uint8_t {
        granted,
        refused,
        counted,   ///< by an attempt that was granted
        released,  ///< or the node had nothing to release
        begun,     ///< an INCR created the counter
    };
    std::uint64_t end = 0;
    kind what{};
    std::string token{};      ///< or the key of the counter
    std::int64_t value = 0;   ///< of the counter; zero: no client has voted it
    bool is_unheard = false;  ///< comes after a reply that makes the client close the connection
};

/// A connection or an attempt to connect, from its first packet until both ends have forgotten it.
struct link {
    std::uint64_t id = 0;
    unsigned client = 0;
    unsigned generation = 0;
    unsigned node = 0;
    instant dialled{};
    bool client_end = true;   ///< the client's side is open or connecting
    bool server_end = false;  ///< the node's side is open
    bool ends = false;        ///< the end has reached a suspended node
    bool refused = false;
    /// The client does not hear that the other end is gone.
    bool half_open = false;
    pipe up;
    pipe down;
    test::session session;
    /// Bytes that the node has read but not yet executed.
    std::string unread;
    /// Bytes to the client: sent and received, and the votes that the client has not yet read.
    std::uint64_t said = 0;
    std::uint64_t heard = 0;
    std::deque<vote> votes;
    /// The client closes the connection once it has read the last reply.
    bool is_left = false;
    /// The tokens of its last grants, by the keys of their counters.
    std::map<std::string, std::string> granted;
};

/// All connections and the bytes on them.
class network {
public:
    explicit network(world& w);

    link& dial(unsigned client, unsigned generation, unsigned node);
    void send_up(link& l, std::string_view bytes);
    /// `is_of_raise`: the bytes contain the answer to an alignment.
    void send_down(link& l, std::string_view bytes, instant proof, bool is_of_raise = false);
    /// The client closes its end. All bytes that it sent arrive, or the first ones only.
    void close_by_client(link& l);
    /// The node's process ends, and its end of the connection with it.
    void close_by_server(link& l);
    /// Both ends lose the connection. Each still receives the first part of the bytes on their way.
    void cut(link& l);

    void on_bytes_up(link& l);
    void on_bytes_down(link& l);
    void on_dialled(link& l);
    void on_told_closed(link& l);

    [[nodiscard]] link& at(std::uint64_t id) { return *links_[id]; }
    [[nodiscard]] std::vector<link*> between(unsigned client, unsigned node);
    [[nodiscard]] std::vector<link*> of_node(unsigned node);
    /// Whether bytes could still reach a node.
    [[nodiscard]] bool is_something_under_way() const;
    void unblock();
    /// Lets the delayed bytes to and from the node pass.
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
