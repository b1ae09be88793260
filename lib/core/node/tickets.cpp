#include "core/node/tickets.hpp"

#include "core/node/words.hpp"
#include "resp/error_text.hpp"
#include "resp/reply.hpp"

namespace redlock::core {

void tickets::ask_place(lease& l, const place_request& asked)
{
    const form f = knows_queue_ ? requests_.script_form() : form::eval;
    requests_.send_words(command::queue, l, f, [&](std::string& out, const wording& w) {
        append_queue(out, w, asked, f);
    });
}

void tickets::leave(lease& l, std::string_view resource, std::string_view name, unsigned held)
{
    constexpr form f = form::eval;  // a digest that the node does not know would lose the command
    requests_.send_words(command::leave, {l, held}, f, [&](std::string& out, const wording& w) {
        append_leave(out, w, resource, name, f);
    });
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
