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
        begin_run(i);
        nodes_[i].links.resize(p.all_clients());
    }
}

/// With one run id the nodes would look like one server that has several names.
void network::begin_run(unsigned node)
{
    const std::string run = std::to_string(nodes_[node].runs++);
    std::string& id = nodes_[node].master.run_id;
    id.replace(0, 2, std::to_string(10 + node));
    id.replace(2, run.size(), run);
}

/// The time of one message between a client and a node.
nanos network::way(unsigned client)
{
    const nanos further = plan_.is_far(client) ? plan_.far / 2 : nanos{};
    return further + random_.between(plan_.least_way, plan_.longest_way);
}

void network::connect(unsigned client, unsigned node)
{
    link& l = links_.emplace_back(link{.client = client, .node = node});
    nodes_[node].links[client] = &l;
    events_.at(now() + way(client), [this, &l] {
        if (nodes_[l.node].state == node_state::stopped) {
            tell_of_end(l);
        } else if (l.is_open_at_client) {
            l.is_open_at_node = true;
            listener_.on_connected(l.client, l.node);
        }
    });
}

void network::send(unsigned client, unsigned node, std::string bytes)
{
    link& l = *nodes_[node].links[client];
    l.last_up = std::max(l.last_up, now() + way(client));
    events_.at(l.last_up, [this, &l, bytes = std::move(bytes)] {
        if (!l.is_open_at_node) {
            return;
        }
        l.unread += bytes;
        if (nodes_[l.node].state == node_state::running) {
            serve(l);
        }
    });
}

void network::close(unsigned client, unsigned node)
{
    link* const l = nodes_[node].links[client];
    if (l == nullptr || !std::exchange(l->is_open_at_client, false)) {
        return;
    }
    l->last_up = std::max(l->last_up, now() + way(client));
    events_.at(l->last_up, [this, l] {
        l->ends = true;
        if (l->is_open_at_node && nodes_[l->node].state == node_state::running) {
            forget(*l);
        }
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

/// The node's end of the connection is gone.
void network::forget(link& l)
{
    l.is_open_at_node = false;
    l.unread.clear();
    nodes_[l.node].master.forget(l.session);
}

void network::send_notifications(unsigned node)
{
    if (!std::exchange(nodes_[node].master.has_told, false)) {
        return;
    }
    for (link* const l : nodes_[node].links) {
        if (l == nullptr || l->session.out.empty()) {
            continue;
        }
        std::string push = std::exchange(l->session.out, {});
        if (plan_.lost_one_in == 0 || !random_.one_in(plan_.lost_one_in)) {
            answer(*l, std::move(push));
        }
    }
}

void network::lose_notifications(unsigned node)
{
    nodes_[node].master.has_told = false;
    for (link* const l : open_links(node)) {
        l->session.out.clear();
    }
}

void network::answer(link& l, std::string bytes)
{
    if (bytes.empty()) {
        return;
    }
    const instant sent = std::max(nodes_[l.node].busy_until, now());
    l.last_down = std::max(l.last_down, sent + way(l.client));
    events_.at(l.last_down, [this, &l, bytes = std::move(bytes)] {
        if (l.is_open_at_client) {
            listener_.on_bytes(l.client, l.node, bytes);
        }
    });
}

/// The client first gets all bytes that the node sent before.
void network::tell_of_end(link& l)
{
    l.last_down = std::max(l.last_down, now() + way(l.client));
    events_.at(l.last_down, [this, &l] {
        if (std::exchange(l.is_open_at_client, false)) {
            listener_.on_closed(l.client, l.node);
        }
    });
}

// Faults of a node.

std::vector<network::link*> network::open_links(unsigned node)
{
    std::vector<link*> open;
    for (link& l : links_) {
        if (l.node == node && l.is_open_at_node) {
            open.push_back(&l);
        }
    }
    return open;
}

void network::stop(unsigned node)
{
    nodes_[node].state = node_state::stopped;
    for (link* const l : open_links(node)) {
        forget(*l);
        tell_of_end(*l);
    }
}

void network::start(unsigned node)
{
    nodes_[node].state = node_state::running;
    nodes_[node].master.flush_scripts();
    begin_run(node);
}

void network::suspend(unsigned node)
{
    nodes_[node].state = node_state::suspended;
}

/// Serves the connections in a random order: a server finds them in no order.
void network::resume(unsigned node)
{
    nodes_[node].state = node_state::running;
    std::vector<link*> open = open_links(node);
    for (std::size_t left = open.size(); left > 0; --left) {
        std::swap(open[left - 1], open[random_.below(left)]);
        link& l = *open[left - 1];
        serve(l);
        if (l.ends) {
            forget(l);
        }
    }
}

void network::expire_keys()
{
    for (unsigned i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].state == node_state::running) {
            nodes_[i].master.expire(now());
            send_notifications(i);
        }
    }
}

}  // namespace redlock::contention
