#include "core/node/tickets.hpp"

#include "core/node/words.hpp"
#include "resp/error_text.hpp"
#include "resp/reply.hpp"

#include <cstddef>
#include <new>

namespace redlock::core {

namespace {

/// The largest number of tickets to give back later. Others wait until the keys of more tickets
/// end.
constexpr std::size_t most_late = 1000;

}  // namespace

void tickets::ask_place(lease& l, const place_request& asked)
{
    const form f = knows_queue_ ? requests_.script_form() : form::eval;
    requests_.send_words(command::queue, l, f, [&](std::string& out, const wording& w) {
        append_queue(out, w, asked, f);
    });
}

void tickets::leave(lease& l, std::string_view resource, std::string_view name, unsigned member)
{
    constexpr form f = form::eval;  // a digest that the node does not know would lose the command
    requests_.send_words(command::leave, {l, member}, f, [&](std::string& out, const wording& w) {
        append_leave(out, w, resource, name, f);
    });
}

void tickets::leave_later(std::string_view resource, const ticket& own) noexcept
{
    if (node_.is_ready()) {
        return;
    }
    try {
        if (late_.size() == most_late) {
            late_.pop();
        }
        late_.push({std::string(resource), own});
    } catch (const std::bad_alloc&) {
        return;  // the ticket's key ends
    }
}

void tickets::send_late()
{
    for (; !late_.empty() && node_.is_ready() && requests_.has_room(); late_.pop()) {
        const late_ticket& t = late_.front();
        constexpr form f = form::eval;
        requests_.send_words(command::drop_ticket, {}, f, [&](std::string& out, const wording& w) {
            append_leave(out, w, t.resource, t.own.name(), f);
        });
    }
}

/// A node that refuses the script for another reason than its present state, or the type of the
/// key, serves no queue until the next connection.
place_answer tickets::take_error(const pending& p, const resp::reply& r) noexcept
{
    const bool is_unknown = p.sent_as == form::evalsha && resp::has_code(r.text(), "NOSCRIPT");
    knows_queue_ = knows_queue_ && !is_unknown;
    if (is_unknown || requests_.note_refused_form(p, r)) {
        return place_answer::again;
    }
    is_refused_ =
        is_refused_ || (!resp::is_about_state(r.text()) && !resp::says_wrong_type(r.text()));
    return place_answer::refused;
}

}  // namespace redlock::core
