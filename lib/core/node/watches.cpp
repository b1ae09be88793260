#include "core/node/commands.hpp"
#include "core/node/node.hpp"
#include "resp/encoder.hpp"
#include "resp/error_text.hpp"

#include <string_view>
#include <utility>

// Keys that are waited for: the server is asked to tell when they go. What it tells is a hint, and
// what it does not tell costs whoever waits a while.
// https://redis.io/docs/latest/develop/reference/client-side-caching/
namespace redlock::core {

using base::instant;

bool node::can_track() const noexcept
{
    return context_.settings.release_notifications && is_ready() && handshake_.protocol() == 3 &&
           tracking_ != tracks::refused && watches_again_ <= context_.now;
}

/// Adds the commands that stand in front of the one that reads the key.
void node::add_tracking(command_row& row) const
{
    if (tracking_ == tracks::off) {
        row.push_back(command::start_tracking);
    }
    row.push_back(command::caching);
}

/// They are queued.
void node::note_watching() noexcept
{
    if (!can_track()) {
        return;
    }
    tracking_ = tracks::on;
    watchers_looked_for_ = context_.now + watched_at_least;
    wake_up_ = std::min(wake_up_, watchers_looked_for_);
}

void node::watch(lease& l, std::string_view resource)
{
    command_row in_front;
    add_tracking(in_front);
    command_row row = in_front;
    row.push_back(command::watch);
    write(row, [&] {
        append(in_front, l, form::evalsha);
        resp::append(out_.last(), "PTTL", key_of(resource));
    });
    expect(row, l, form::evalsha);
    note_watching();
}

/// The server need not remember for nobody which keys were read.
void node::end_tracking_if_idle()
{
    if (context_.now < watchers_looked_for_) {
        return;
    }
    if (tracking_ == tracks::on && context_.watchers[index_] > 0) {
        watchers_looked_for_ = context_.now + watched_at_least;
        return;
    }
    watchers_looked_for_ = instant::max();
    if (tracking_ == tracks::on) {
        send(command::end_tracking, {});
        tracking_ = tracks::off;
    }
}

/// Whether it was for that is not known, unless it happens again and again. Each row that reads a
/// key has one such command.
void node::on_caching_lost(const pending&) noexcept
{
    if (std::exchange(has_lost_watch_, true) || ++lost_watches_ < most_lost_watches) {
        return;
    }
    lost_watches_ = 0;
    watches_again_ = context_.now + pause_of_watches;
    context_.log(log_level::warning,
                 {address_.display,
                  ": the connection was lost each time that a notification was due: waiters poll"});
}

/// It has not told of a key that it was to tell of, as who looked after `since` found. False: it
/// has told something meanwhile, which may have been that.
bool node::note_silence(instant since) noexcept
{
    if (told_at_ >= since) {
        return false;
    }
    is_silent_ = true;
    if (!std::exchange(missed_word_, true)) {
        context_.log(log_level::warning,
                     {address_.display,
                      " sent no notification of a lock that was free or had a new "
                      "holder: waiters poll until the next notification"});
    }
    return true;
}

bool node::on_tracking(const pending& p, const resp::reply& r)
{
    if (!r.is_error() && r.type() != resp::reply_type::simple_string) {
        return on_nonsense(p);
    }
    const bool is_tracking = p.what != command::caching;
    if (is_tracking) {
        accepts_tracking_ = !r.is_error();
    }
    if (r.is_error() && tracking_ != tracks::refused) {
        // If TRACKING failed, CACHING fails too, and its error says nothing.
        const bool is_final = (is_tracking || accepts_tracking_) && !resp::is_about_state(r.text());
        tracking_ = is_final ? tracks::refused : tracks::off;
    }
    if (r.is_error() && tracking_ == tracks::refused) {
        if (!std::exchange(missed_tracking_, true)) {
            context_.log(
                log_level::info,
                {address_.display, " sends no notifications: waiters poll (", error_of(r), ")"});
        }
    }
    return true;
}

bool node::on_watch(const pending& p, const resp::reply& r)
{
    if (!r.is_integer() && !r.is_error()) {
        return on_nonsense(p);
    }
    lost_watches_ = 0;
    lease& l = p.of_lease();
    if (r.is_integer() && tracking_ == tracks::on) {
        events_.on_watched(l, index_, 0, {r.integer(), p.sent});
    }
    return true;
}

/// Of a key that has gone or was changed; a null of all of them.
void node::on_push(const resp::reply& r) noexcept
{
    if (r.at(0).text() != "invalidate") {
        return;
    }
    told_at_ = context_.now;
    is_silent_ = false;
    const resp::reply keys = r.at(1);
    if (keys.is_null()) {
        events_.on_notification(index_, notification::all_keys_gone, {});
        return;
    }
    const std::string_view prefix = context_.settings.key_prefix;
    for (const resp::reply key : keys) {
        if (key.text().starts_with(prefix)) {
            events_.on_notification(index_, notification::key_gone,
                                    key.text().substr(prefix.size()));
        }
    }
}

}  // namespace redlock::core
