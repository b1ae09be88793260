#pragma once

#include "base/instant.hpp"
#include "sim/contention/play.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/random.hpp"
#include "support/virtual/timeline.hpp"

#include <functional>
#include <memory>
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

private:
    /// A connection of a client to a node.
    struct link {
        unsigned client = 0;
        unsigned node = 0;
        test::session session{};
        std::string unread{};
        instant last_up{};
        instant last_down{};
    };
    struct node {
        test::model_master master;
        instant busy_until{};
        /// The connections, by client.
        std::vector<std::unique_ptr<link>> links;
    };

    [[nodiscard]] instant now() const { return events_.now(); }
    [[nodiscard]] nanos way(unsigned client);
    void serve(link& l);
    void send_notifications(unsigned node);
    void answer(link& l, std::string bytes);

    const plan& plan_;
    timeline& events_;
    test::random_source& random_;
    connection_events& listener_;
    std::vector<node> nodes_;
};

}  // namespace redlock::contention
