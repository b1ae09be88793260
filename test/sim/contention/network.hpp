#pragma once

#include "base/instant.hpp"
#include "sim/contention/play.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/random.hpp"
#include "support/virtual/timeline.hpp"

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::contention {

using base::instant;
using base::nanos;
using timeline = test::timeline<std::function<void()>>;

/// Receiver of what happens at the clients' ends of their connections.
class connection_events {
public:
    virtual void on_connected(unsigned client, unsigned node) = 0;
    virtual void on_bytes(unsigned client, unsigned node, std::string_view bytes) = 0;
    /// The node has ended or refused the connection.
    virtual void on_closed(unsigned client, unsigned node) = 0;

protected:
    ~connection_events() = default;
};

/// The model nodes, and the connections of all clients to them. A node executes one command after
/// the other, and a connection keeps the order of its bytes.
class network {
public:
    /// All references must outlive the object.
    network(const plan& p, timeline& events, test::random_source& random,
            connection_events& listener);

    // Requests of a client.
    void connect(unsigned client, unsigned node);
    void send(unsigned client, unsigned node, std::string bytes);
    /// The node gets all bytes that the client sent before.
    void close(unsigned client, unsigned node);

    // Faults of a node.
    [[nodiscard]] test::model_master& master(unsigned node) { return nodes_[node].master; }
    /// Ends all connections. Attempts to connect fail until `start`.
    void stop(unsigned node);
    /// The node runs again, as another run of the server. It has the keys that it had.
    void start(unsigned node);
    /// The node executes nothing until `resume`. Its connections stay, and it accepts new ones.
    void suspend(unsigned node);
    /// The node executes what it has received meanwhile, also from connections that their clients
    /// have closed.
    void resume(unsigned node);

    // The notifications of changes that no client made.
    void send_notifications(unsigned node);
    void lose_notifications(unsigned node);
    /// Deletes the expired keys of all running nodes, which a server does from time to time.
    void expire_keys();

private:
    /// A connection of a client to a node.
    struct link {
        unsigned client = 0;
        unsigned node = 0;
        test::session session{};
        std::string unread{};
        instant last_up{};
        instant last_down{};
        bool is_open_at_client = true;  ///< or the client connects
        bool is_open_at_node = false;
        /// The client's end has reached a suspended node.
        bool ends = false;
    };
    enum class node_state { running, suspended, stopped };
    struct node {
        node_state state = node_state::running;
        unsigned runs = 0;
        test::model_master master{};
        instant busy_until{};
        /// The last connection of each client, by client; null: the client has not connected.
        std::vector<link*> links{};
    };

    [[nodiscard]] instant now() const { return events_.now(); }
    [[nodiscard]] nanos way(unsigned client);
    void begin_run(unsigned node);
    void serve(link& l);
    void forget(link& l);
    void answer(link& l, std::string bytes);
    void tell_of_end(link& l);
    [[nodiscard]] std::vector<link*> open_links(unsigned node);

    const plan& plan_;
    timeline& events_;
    test::random_source& random_;
    connection_events& listener_;
    std::vector<node> nodes_;
    /// All connections that there ever were, since events refer to them.
    std::deque<link> links_;
};

}  // namespace redlock::contention
