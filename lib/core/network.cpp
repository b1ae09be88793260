#include "core/network.hpp"

#include "core/node/connection.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace redlock::core {

using base::instant;

void network::start(instant now) noexcept
{
    c_.shared.now = now;
    if (c_.settings.tls.insecure_skip_verification) {
        c_.shared.log(log_level::warning,
                      {"config::tls.insecure_skip_verification is set: the client does "
                       "not verify TLS nodes"});
    }
    if (c_.settings.guard && c_.settings.guard->admit_new_nodes) {
        c_.shared.log(log_level::warning,
                      {"config::restart_guard.admit_new_nodes is set: nodes without a "
                       "marker count as new"});
    }
    for (auto& n : c_.nodes) {
        n->connection().begin();
    }
    c_.availability.on_connection();
}

/// If memory runs out, the state of the connection is not known, so it is given up. Returns whether
/// there was memory.
template <class Step>
bool network::step_or_break_off(unsigned index, Step step) noexcept
{
    try {
        step(c_.nodes[index]->connection());
        return true;
    } catch (const std::bad_alloc&) {
        c_.nodes[index]->connection().break_off("out of memory");
        return false;
    }
}

bool network::on_credentials(instant now, unsigned index, const base::login& given) noexcept
{
    c_.shared.now = now;
    bool goes_on = false;
    step_or_break_off(index, [&](connection& c) { goes_on = c.on_credentials(given); });
    c_.run();
    return goes_on;
}

void network::note_other_addresses(unsigned index, bool has_some) noexcept
{
    c_.nodes[index]->connection().note_other_addresses(has_some);
}

bool network::take_was_useful(unsigned index) noexcept
{
    return c_.nodes[index]->connection().take_was_useful();
}

void network::on_tls_handshake(unsigned index) noexcept
{
    c_.nodes[index]->connection().on_tls_handshake();
}

void network::on_connected(instant now, unsigned index) noexcept
{
    c_.shared.now = now;
    step_or_break_off(index, [](connection& c) { c.on_connected(); });
    c_.run();
}

void network::on_bytes(instant now, unsigned index, std::string_view bytes) noexcept
{
    c_.shared.now = now;
    step_or_break_off(index, [&](connection& c) { c.on_bytes(bytes); });
    c_.run();
}

void network::on_closed(instant now, unsigned index, std::string_view reason) noexcept
{
    c_.shared.now = now;
    c_.nodes[index]->connection().on_closed(reason);
    c_.run();
}

node_mask network::take_written() noexcept
{
    node_mask written = 0;
    while (const node_mask of = std::exchange(c_.shared.written, 0)) {
        written |= of;
        if (!end_turn(of)) {
            // The operations that lost a node go on, and may send something to the others.
            c_.run();
        }
    }
    return written;
}

/// False: connections were given up.
bool network::end_turn(node_mask of) noexcept
{
    bool has_memory = true;
    encoded_batches same;
    for (; of != 0; of &= of - 1) {
        const auto index = static_cast<unsigned>(std::countr_zero(of));
        has_memory &= step_or_break_off(index, [&](connection& c) {
            // After a failure the words are gone.
            encoded_batches copied = std::exchange(same, {});
            c.on_turn_end(copied);
            same = copied;
        });
        c_.shared.written &= ~bit(index);
    }
    return has_memory;
}

void network::on_time() noexcept
{
    for (unsigned i = 0; i < c_.nodes.size(); ++i) {
        if (c_.nodes[i]->wake_up() <= c_.shared.now) {
            step_or_break_off(i, [](connection& c) { c.on_time(); });
        }
    }
}

void network::stop() noexcept
{
    c_.shared.stopped = true;
    for (const auto& n : c_.nodes) {
        n->stop();
    }
}

instant network::next_wake_up() const noexcept
{
    instant next = instant::max();
    for (const auto& n : c_.nodes) {
        next = std::min(next, n->wake_up());
    }
    return next;
}

bool network::is_quiet() const noexcept
{
    return std::all_of(c_.nodes.begin(), c_.nodes.end(),
                       [](const auto& n) { return n->releases_going_out() == 0; });
}

}  // namespace redlock::core
