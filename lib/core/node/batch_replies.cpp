#include "core/node/batch.hpp"
#include "core/node/command_table.hpp"
#include "core/node/parts.hpp"
#include "core/node/replies.hpp"
#include "resp/error_text.hpp"
#include "resp/reply.hpp"

#include <cassert>
#include <string_view>
#include <utility>

// The replies to the scripts for several locks.
namespace redlock::core {

namespace {

void take(node_parts& n, const pending& p, script_result result, const resp::reply& r)
{
    [[maybe_unused]] const bool goes_on =
        p.what == command::extend ? take_extend(n, p, result, r) : take_release(n, p, result, r);
    assert(goes_on && "a result that fits gives no connection up");
}

void forget_unanswered(node_parts& n, const batch& b) noexcept
{
    for (const pending& each : b.unanswered()) {
        forget_command(n, each);
    }
}

bool is_unknown(const pending& p, const resp::reply& r) noexcept
{
    return p.sent_as == form::evalsha && resp::has_code(r.text(), "NOSCRIPT");
}

/// The client sends no further batch on this connection.
void note_refusal(node_parts& n, const resp::reply& r)
{
    n.requests.note_refused_batch();
    if (!std::exchange(n.is_refused_batch_logged, true)) {
        n.state.shared.log(log_level::info,
                           {n.state.address.display,
                            " refuses the script for several locks: each lock costs a command (",
                            error_of(n, r), ")"});
    }
}

/// The result of each command after an error of the script.
script_result result_of_error(node_parts& n, const pending& p, const resp::reply& r)
{
    if (is_unknown(p, r)) {
        n.requests.note_unknown_batch_script(p.what);
        ++n.state.shared.stats.script_reloads;
    } else if (!n.requests.refuses_batches() && n.requests.note_refused_form(p, r)) {
        // The node may accept the text.
    } else if (resp::is_about_state(r.text())) {
        return script_result::error;
    } else {
        note_refusal(n, r);
    }
    return script_result::again;
}

/// Calls `take_one` for each command. If that throws, the rest stays unanswered.
template <class Take>
void take_all(batch& b, Take take_one)
{
    for (const pending& each : b.commands()) {
        take_one(each);
        ++b.answered;
    }
}

}  // namespace

/// After an error of the script it is not known what happened to each lock, so the client asks for
/// each by itself.
bool on_batch(node_parts& n, const pending& p, const resp::reply& r)
{
    batch& b = p.of_batch();
    if (r.is_error()) {
        const script_result of_all = result_of_error(n, p, r);
        take_all(b, [&](pending each) {
            // If the node has lost its scripts, it does not know the one for a single lock either.
            each.sent_as = is_unknown(p, r) ? form::evalsha : each.sent_as;
            const bool has_room = n.requests.has_room_or_is_idle();
            const bool is_kept = of_all == script_result::again && !has_room;
            take(n, each, is_kept ? script_result::no_room : of_all, r);
        });
        return true;
    }
    const std::string_view digits = r.text();
    if (!r.is_string() || digits.size() != b.size ||
        digits.find_first_not_of("01") != std::string_view::npos) {
        return on_nonsense(n, p);
    }
    take_all(b, [&](const pending& each) {
        take(n, each, digits[b.answered] == '1' ? script_result::yes : script_result::no, r);
    });
    return true;
}

void on_batch_lost(node_parts& n, const pending& p) noexcept
{
    forget_unanswered(n, p.of_batch());
}

}  // namespace redlock::core
