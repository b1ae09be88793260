#include "core/node/parts.hpp"
#include "core/node/replies.hpp"
#include "resp/reply.hpp"

#include <redlock/log.hpp>

#include <chrono>
#include <cstddef>

// The replies of a queue.
namespace redlock::core {

namespace {

/// A number in the reply that is not negative.
bool is_count(const resp::reply& r) noexcept
{
    return r.is_integer() && r.integer() >= 0;
}

place_answer take_error(node_parts& n, const pending& p, const resp::reply& r)
{
    const place_answer meaning = n.tickets.take_error(p, r);
    if (n.tickets.take_refusal()) {
        n.state.shared.log(
            log_level::warning,
            {n.state.address.display, " serves no queue: clients get a lock there in no order (",
             error_of(n, r), ")"});
    }
    return meaning;
}

}  // namespace

bool on_place(node_parts& n, const pending& p, const resp::reply& r)
{
    const lease& l = p.of_lease();
    if (r.is_error()) {
        n.state.events.waiters.on_place(l, n.state.index, take_error(n, p, r), {});
        return true;
    }
    const bool fits = r.type() == resp::reply_type::array && r.size() == 5 && is_count(r.at(0)) &&
                      r.at(1).is_string() && r.at(2).is_integer() && is_count(r.at(3)) &&
                      is_count(r.at(4));
    if (!fits) {
        return on_nonsense(n, p);
    }
    n.tickets.note_run();
    n.state.events.waiters.on_place(l, n.state.index, place_answer::placed,
                                    {.before = static_cast<std::size_t>(r.at(0).integer()),
                                     .predecessor = ticket::parse(r.at(1).text()),
                                     .lock_ttl = r.at(2).integer(),
                                     .number = r.at(3).integer(),
                                     .removed = static_cast<std::size_t>(r.at(4).integer())});
    return true;
}

bool on_left(node_parts& n, const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        static_cast<void>(take_error(n, p, r));
        return true;
    }
    if (!is_count(r)) {
        return on_nonsense(n, p);
    }
    n.state.events.waiters.on_left(p.of_lease(), p.member, r.integer() > 0);
    return true;
}

bool on_queue_state(node_parts& n, const pending& p, const resp::reply& r)
{
    if (r.is_error()) {
        return true;  // the inspection says nothing of waiters
    }
    const bool fits = r.type() == resp::reply_type::array && r.size() == 2 && is_count(r.at(0)) &&
                      r.at(1).is_integer();
    if (!fits) {
        return on_nonsense(n, p);
    }
    if (const round& asked = p.of_round(); asked.details != nullptr) {
        asked.details->clients_waiting = static_cast<std::size_t>(r.at(0).integer());
        if (r.at(1).integer() >= 0) {
            asked.details->first_waits_for = std::chrono::milliseconds{r.at(1).integer()};
        }
    }
    return true;
}

}  // namespace redlock::core
