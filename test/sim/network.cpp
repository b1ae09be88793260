#include "sim/network.hpp"

#include "sim/world.hpp"

#include <algorithm>

namespace redlock::sim {

using namespace std::chrono_literals;

namespace {

/// Whether the bytes ask for an alignment, and don't only load its script.
bool asks_raise(std::string_view bytes)
{
    constexpr const test::contract_script& raise = test::contract_scripts[4];
    static const std::string by_text =
        "EVAL\r\n$" + std::to_string(raise.text.size()) + "\r\n" + std::string(raise.text);
    return bytes.find(raise.sha1) != bytes.npos || bytes.find(by_text) != bytes.npos;
}

}  // namespace

network::network(world& w)
    : w_(w),
      ways_(w.planned().seed, 2),
      pieces_(w.planned().seed, 3),
      losses_(w.planned().seed, 4),
      raises_(w.planned().seed, 5)
{}

link& network::dial(unsigned client, unsigned generation, unsigned node)
{
    auto l = std::make_unique<link>();
    l->id = links_.size();
    l->client = client;
    l->generation = generation;
    l->node = node;
    l->dialled = w_.now();
    links_.push_back(std::move(l));
    link& made = *links_.back();
    // Drawn one after the other, because a compiler may evaluate the operands of a sum in any
    // order.
    const nanos down = way(false);
    nanos in = way(true) + down;
    if (w_.faults.happens(fault::slow_dial)) {
        in += ways_.between(1ms, 400ms);
        made.refused = ways_.one_in(2);
        w_.checks.upset(client, node, w_.now() + in);
    }
    w_.checks.upset_if_late(client, node, w_.now() + in);
    w_.schedule(in, event_kind::dialled, client, made.id);
    return made;
}

/// Draws how long a message takes.
nanos network::way(bool up)
{
    nanos takes = ways_.between(w_.planned().least_way, w_.planned().longest_way);
    if (w_.faults.delays(up)) {
        takes += ways_.waiting(40ms);
    }
    return takes;
}

void network::send_up(link& l, std::string_view bytes)
{
    if (!asks_raise(bytes) || !spoil_raise(l, true)) {
        send(l, true, bytes, {});
    }
}

void network::send_down(link& l, std::string_view bytes, instant proof, bool is_of_raise)
{
    if (l.client_end) {
        l.said += bytes.size();
        if (!is_of_raise || !spoil_raise(l, false)) {
            send(l, false, bytes, proof);
        }
    }
}

/// Makes an alignment late, or loses it with its connection. True if it is lost.
bool network::spoil_raise(link& l, bool up)
{
    if (!w_.faults.happens(fault::raise)) {
        return false;
    }
    ++(up ? w_.counts.raises_spoiled : w_.counts.answers_spoiled);
    w_.say("c", l.client, " n", l.node, ": ", up ? "a raise" : "the answer to a raise",
           " is spoiled");
    pipe& p = up ? l.up : l.down;
    if (raises_.one_in(2)) {
        p.last = std::max(p.last, w_.now()) + raises_.waiting(60ms);
        return false;
    }
    w_.checks.upset(l.client, l.node, w_.now());
    p.torn = true;
    end(l);
    return true;
}

void network::send(link& l, bool up, std::string_view bytes, instant proof)
{
    w_.mix_bytes(bytes);
    while (bytes.size() > 1 && w_.faults.happens(fault::split)) {
        // Splits anywhere, or into many small pieces.
        const std::size_t most = pieces_.one_in(2) ? bytes.size() - 1 : 40;
        const std::size_t first = pieces_.between(1, std::min(bytes.size() - 1, most));
        put(l, up, {.bytes = std::string(bytes.substr(0, first))});
        bytes.remove_prefix(first);
    }
    put(l, up, {.bytes = std::string(bytes), .proof = proof});
}

void network::put(link& l, bool up, pipe::chunk c)
{
    pipe& p = up ? l.up : l.down;
    if (p.torn && !c.is_end) {
        return;
    }
    p.chunks.push_back(std::move(c));
    if (!w_.servers[l.node]->is_unreachable()) {
        send_off(l, up, p.chunks.back());
    }
}

void network::send_off(link& l, bool up, pipe::chunk& c)
{
    pipe& p = up ? l.up : l.down;
    p.last = std::max({p.last, w_.now() + way(up), p.blocked_until});
    c.at = p.last;
    const auto kind = up ? event_kind::bytes_up : event_kind::bytes_down;
    w_.checks.upset_if_late(l.client, l.node, p.last);
    w_.schedule(p.last - w_.now(), kind, l.client, l.id);
}

/// Loses the bytes on their way from some byte on.
void network::lose_some(link& l, bool up)
{
    pipe& p = up ? l.up : l.down;
    const std::size_t kept = losses_.below(p.chunks.size() + 1);
    if (kept == p.chunks.size()) {
        return;
    }
    p.torn = true;
    auto& torn = p.chunks[kept].bytes;
    torn.resize(losses_.one_in(2) ? 0 : losses_.below(torn.size() + 1));
    p.chunks.resize(kept + 1);
}

void network::close_by_client(link& l)
{
    l.client_end = false;
    l.down.chunks.clear();
    if (losses_.one_in(3)) {
        lose_some(l, true);
    }
    put(l, true, {.is_end = true});
}

void network::close_by_server(link& l)
{
    l.server_end = false;
    l.unread.clear();
    l.up.chunks.clear();
    w_.servers[l.node]->master.forget(l.session);
    if (l.client_end) {
        if (losses_.one_in(2)) {
            lose_some(l, false);
        }
        tell_client(l);
    }
}

void network::cut(link& l)
{
    lose_some(l, true);
    lose_some(l, false);
    end(l);
}

/// Each side hears of the end after the bytes that still arrive.
void network::end(link& l)
{
    put(l, true, {.is_end = true});
    if (l.client_end) {
        tell_client(l);
    }
}

/// The client hears of the end after the bytes that still arrive. Or the connection is half open,
/// and the client hears of it only from a node that is back.
void network::tell_client(link& l)
{
    if (w_.faults.happens(fault::half_open)) {
        l.half_open = true;
        w_.checks.deceive(l.client, l.node);
        w_.say("c", l.client, " n", l.node, ": link ", l.id, " is half open");
        return;
    }
    l.down.last = std::max(l.down.last, w_.now() + way(false));
    w_.schedule(l.down.last - w_.now(), event_kind::told_closed, l.client, l.id);
}

/// Takes the front chunk if it may pass now.
bool network::take(link& l, bool up, pipe::chunk& c)
{
    pipe& p = up ? l.up : l.down;
    if (p.chunks.empty() || p.chunks.front().at > w_.now() ||
        w_.servers[l.node]->is_unreachable()) {
        return false;  // lost or delayed
    }
    if (p.blocked_until > w_.now()) {
        const auto kind = up ? event_kind::bytes_up : event_kind::bytes_down;
        p.last = std::max(p.last, p.blocked_until);
        w_.schedule(p.blocked_until - w_.now(), kind, l.client, l.id);
        return false;
    }
    c = std::move(p.chunks.front());
    p.chunks.pop_front();
    return true;
}

void network::on_bytes_up(link& l)
{
    pipe::chunk c;
    if (!take(l, true, c)) {
        return;
    }
    server& s = *w_.servers[l.node];
    if (c.is_end) {
        s.on_end(l);
        return;
    }
    if (l.server_end) {
        s.on_bytes(l, c.bytes);
        return;
    }
    // The node does not know this connection and answers with a reset if it runs.
    if (s.is_up() && l.client_end && !l.refused) {
        l.half_open = false;
        w_.schedule(way(false), event_kind::told_closed, l.client, l.id);
    }
}

void network::on_bytes_down(link& l)
{
    pipe::chunk c;
    if (take(l, false, c) && l.client_end) {
        w_.clients[l.client]->on_bytes(l, c.bytes, c.proof);
    }
}

void network::on_dialled(link& l)
{
    server& s = *w_.servers[l.node];
    if (s.is_unreachable()) {
        return;  // no reply comes for this connection
    }
    if (!l.refused && s.is_up()) {
        l.server_end = true;
        s.on_link(l);
    } else {
        l.refused = true;
    }
    if (!l.client_end) {
        if (l.server_end) {
            s.on_end(l);
        }
        return;
    }
    w_.clients[l.client]->on_dialled(l);
}

void network::on_told_closed(link& l)
{
    if (l.client_end) {
        l.client_end = false;
        w_.clients[l.client]->on_closed(l);
    }
}

std::vector<link*> network::between(unsigned client, unsigned node)
{
    std::vector<link*> found;
    for (const auto& l : links_) {
        if (l->client == client && l->node == node && (l->client_end || l->server_end)) {
            found.push_back(l.get());
        }
    }
    return found;
}

std::vector<link*> network::of_node(unsigned node)
{
    std::vector<link*> found;
    for (const auto& l : links_) {
        if (l->node == node && l->server_end) {
            found.push_back(l.get());
        }
    }
    return found;
}

bool network::is_something_under_way() const
{
    return std::any_of(links_.begin(), links_.end(), [](const auto& l) {
        return l->server_end && (!l->up.chunks.empty() || !l->unread.empty());
    });
}

/// Lets delayed bytes pass.
void network::unblock()
{
    for (const auto& l : links_) {
        for (pipe* p : {&l->up, &l->down}) {
            p->blocked_until = instant{};
        }
    }
}

void network::let_through(unsigned node)
{
    for (const auto& l : links_) {
        if (l->node != node) {
            continue;
        }
        for (const bool up : {true, false}) {
            for (pipe::chunk& c : (up ? l->up : l->down).chunks) {
                send_off(*l, up, c);
            }
        }
    }
}

}  // namespace redlock::sim
