#include "core/node/node.hpp"

#include "core/node/ranking.hpp"

#include <cassert>
#include <new>

namespace redlock::core {

node::node(node_context& shared, node_events events, unsigned index, const base::address& at)
    : parts_(shared, events, index, at),
      name_(name_hash(at.display))
{}

void node::stop() noexcept
{
    parts_.connection.stop();
    parts_.releases.drop_all();
}

command_row node::row_for(const round& r) const
{
    const bool proves = parts_.guard.has_to_prove(*r.of);
    command_row row;
    switch (r.what) {
        case round_kind::set:
            row.push_back(command::set);
            if (r.fencing != nullptr) {
                row.push_back(command_to_count(r));
            }
            if (proves) {
                row.push_back(command::marker);
            }
            if (r.asks_label) {
                row.push_back(command::holder_label);
            }
            if (r.asks_ttl) {
                row.push_back(command::holder_ttl);
            }
            return row;
        case round_kind::take:
            row.push_back(command::take);
            if (proves) {
                row.push_back(command::marker);
            }
            return row;
        case round_kind::extend:
            if (r.asks_label) {
                row.push_back(command::holder_label);
            }
            row.push_back(command::extend);
            if (proves) {
                row.push_back(command::marker);
            }
            return row;
        case round_kind::release: break;
        case round_kind::inspect:
            if ((r.asks_queue & bit(parts_.state.index)) != 0) {
                row.push_back(command::queue_state);
            }
            row.push_back(command::holder_label);
            row.push_back(command::inspect);
            return row;
        case round_kind::align: return command::align;
    }
    assert(false && "a release goes by send_release");
    return row;
}

void node::ask(round& r, encoded_row& same)
{
    // These scripts get the node's own least counter, so their words differ between nodes.
    const bool has_own_words = r.what == round_kind::take || r.what == round_kind::align;
    const bool is_common =
        !has_own_words && r.fencing == nullptr && r.asks_queue == 0 && !parts_.guard.is_on();
    requests& out = parts_.requests;
    const command_row row = is_common && same.is_common ? same.commands : row_for(r);
    if (row == command_row(command::extend)) {
        out.send_extend(r);
        return;
    }
    out.send(row, r, out.script_form(), has_own_words ? nullptr : &same);
    same.is_common = is_common;
    if (is_attempt(r.what)) {
        r.of->asked |= bit(parts_.state.index);
    }
}

command node::command_to_count(const round& r) const noexcept
{
    const node_state& s = parts_.state;
    const bool may_increment = !parts_.requests.refuses_increment() &&
                               s.shared.known_counters.knows(r.of->resource_hash, s.index, s.now());
    return may_increment ? command::increment : command::count;
}

std::optional<node_outcome> node::send_release(round& r, encoded_row& same)
{
    lease& l = *r.of;
    requests& out = parts_.requests;
    if ((l.asked & bit(parts_.state.index)) == 0) {
        return node_outcome::not_asked;
    }
    if (is_ready() && out.has_room()) {
        out.send_release(command::release, r, l, &same);
        return std::nullopt;
    }
    if (parts_.releases.end_of_key(l) <= parts_.state.now()) {
        return node_outcome::refused;  // in any case the key has expired there
    }
    const bool may_answer = is_ready() || may_come();
    const bool is_kept = parts_.releases.keep(l, may_answer ? &r : nullptr, false);
    return may_answer && is_kept ? std::nullopt : std::optional{node_outcome::disconnected};
}

void node::send_background_release(lease& l, encoded_row& same) noexcept
{
    requests& out = parts_.requests;
    if ((l.asked & bit(parts_.state.index)) == 0) {
        return;
    }
    ++parts_.state.shared.stats.background_releases;
    if (is_ready() && out.has_room()) {
        try {
            out.send_release(command::background_release, l, l, &same);
            return;
        } catch (const std::bad_alloc&) {
            // The release is sent later, if there is memory to keep it.
        }
    }
    static_cast<void>(parts_.releases.keep(l, nullptr, false));
}

}  // namespace redlock::core
