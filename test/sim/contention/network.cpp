#include "sim/contention/network.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace redlock::contention {

network::network(const plan& p, timeline& events, test::random_source& random,
                 connection_events& listener)
    : plan_(p),
      events_(events),
      random_(random),
      listener_(listener),
      nodes_(p.nodes)
{
    for (unsigned i = 0; i < p.nodes; ++i) {
        // With one run id the nodes would look like one server that has several names.
        nodes_[i].master.run_id.replace(0, 2, std::to_string(10 + i));
        nodes_[i].links.resize(p.all_clients());
    }
}

/// The time of one message between a client and a node.
nanos network::way(unsigned client)
{
    const nanos further = plan_.is_far(client) ? plan_.far / 2 : nanos{};
    return further + random_.between(plan_.least_way, plan_.longest_way);
}

void network::connect(unsigned client, unsigned node)
{
    nodes_[node].links[client] = std::make_unique<link>(link{.client = client, .node = node});
    events_.at(now() + way(client), [this, client, node] { listener_.on_connected(client, node); });
}

void network::send(unsigned client, unsigned node, std::string bytes)
{
    link& l = *nodes_[node].links[client];
    l.last_up = std::max(l.last_up, now() + way(client));
    events_.at(l.last_up, [this, &l, bytes = std::move(bytes)] {
        l.unread += bytes;
        serve(l);
    });
}

/// Executes one command after the other, and sends all replies at once.
void network::serve(link& l)
{
    node& n = nodes_[l.node];
    std::string replies;
    std::string_view rest = l.unread;
    for (std::string_view next = rest; auto command = test::take_command(next); rest = next) {
        n.busy_until = std::max(n.busy_until, now()) + plan_.command;
        replies += n.master.execute(now(), l.session, *command);
    }
    l.unread.erase(0, l.unread.size() - rest.size());
    answer(l, std::exchange(l.session.out, {}) + replies);
    send_notifications(l.node);
}

void network::send_notifications(unsigned node)
{
    if (!std::exchange(nodes_[node].master.has_told, false)) {
        return;
    }
    for (const auto& l : nodes_[node].links) {
        if (l == nullptr || l->session.out.empty()) {
            continue;
        }
        std::string push = std::exchange(l->session.out, {});
        if (plan_.lost_one_in == 0 || !random_.one_in(plan_.lost_one_in)) {
            answer(*l, std::move(push));
        }
    }
}

void network::answer(link& l, std::string bytes)
{
    if (bytes.empty()) {
        return;
    }
    l.last_down = std::max(l.last_down, nodes_[l.node].busy_until + way(l.client));
    events_.at(l.last_down, [this, &l, bytes = std::move(bytes)] {
        listener_.on_bytes(l.client, l.node, bytes);
    });
}

}  // namespace redlock::contention
