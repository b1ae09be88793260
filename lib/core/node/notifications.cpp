#include "core/node/notifications.hpp"

#include <chrono>
#include <string_view>
#include <utility>

namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

/// If a server or a proxy ends this many connections in a row after a request for a notification,
/// the client makes no request for this time.
constexpr unsigned most_lost_watches = 3;
constexpr nanos pause_of_watches = std::chrono::minutes{10};

/// Notifications stay on for at least this time. Then the client checks whether a waiter needs one.
/// Longer than the time between two polls.
constexpr nanos watched_at_least = std::chrono::seconds{2};

}  // namespace

void notifications::on_ready() noexcept
{
    tracking_ = tracks::off;
    accepts_tracking_ = false;
    is_silent_ = false;
    last_push_ = instant::min();
    look_at_ = instant::max();
}

bool notifications::can_track() const noexcept
{
    return node_.shared.settings.release_notifications && node_.is_ready() &&
           greeting_.protocol() == 3 && tracking_ != tracks::refused && usable_from_ <= node_.now();
}

void notifications::watch(lease& l, std::string_view resource, const std::optional<ticket>& waiter)
{
    command_row in_front;
    if (tracking_ == tracks::off) {
        in_front.push_back(command::start_tracking);
    }
    in_front.push_back(command::caching);
    command_row row = in_front;
    row.push_back(command::watch);
    constexpr form f = form::evalsha;
    requests_.send_words(row, l, f, [&](std::string& out, const wording& w) {
        requests_.append(out, in_front, l, f);
        append_watch(out, w, resource, waiter);
    });
    tracking_ = tracks::on;
    look_at_ = node_.now() + watched_at_least;
    node_.wake_by(look_at_);
}

void notifications::end_if_idle()
{
    if (node_.now() < look_at_) {
        return;
    }
    if (tracking_ == tracks::on && node_.shared.waiters_at[node_.index] > 0) {
        look_at_ = node_.now() + watched_at_least;
        return;
    }
    look_at_ = instant::max();
    if (tracking_ == tracks::on) {
        requests_.send(command::end_tracking, {});
        tracking_ = tracks::off;
    }
}

/// A single lost connection does not show that the request was the cause; several in a row do. Each
/// row that reads a key has one such command, and a connection counts once.
void notifications::on_watch_lost() noexcept
{
    if (std::exchange(has_lost_watch_, true) || ++lost_watches_ < most_lost_watches) {
        return;
    }
    lost_watches_ = 0;
    usable_from_ = node_.now() + pause_of_watches;
    node_.shared.log(
        log_level::warning,
        {node_.address.display,
         ": the connection was lost each time that a notification was due: waiters poll"});
}

bool notifications::note_silence(instant since) noexcept
{
    if (last_push_ >= since) {
        return false;
    }
    is_silent_ = true;
    if (!std::exchange(is_silence_logged_, true)) {
        node_.shared.log(log_level::warning,
                         {node_.address.display,
                          " sent no notification of a change that a poll has found: waiters poll "
                          "until the next notification"});
    }
    return true;
}

void notifications::on_accepted(command what) noexcept
{
    if (what != command::caching) {
        accepts_tracking_ = true;
    }
}

/// If TRACKING has failed, CACHING fails too, and its error says nothing new.
bool notifications::on_refused(command what, bool is_final) noexcept
{
    const bool is_tracking = what != command::caching;
    if (is_tracking) {
        accepts_tracking_ = false;
    }
    if (tracking_ != tracks::refused) {
        const bool counts = is_tracking || accepts_tracking_;
        tracking_ = counts && is_final ? tracks::refused : tracks::off;
    }
    return tracking_ == tracks::refused && !std::exchange(is_refusal_logged_, true);
}

/// Reads a push message: the keys that were deleted or changed, or a null for all keys.
void notifications::on_push(const resp::reply& r) noexcept
{
    if (r.at(0).text() != "invalidate") {
        return;
    }
    last_push_ = node_.now();
    is_silent_ = false;
    const resp::reply keys = r.at(1);
    if (keys.is_null()) {
        node_.events.waiters.on_notification(node_.index, notification::all_keys_gone, {});
        return;
    }
    const std::string_view prefix = node_.shared.settings.key_prefix;
    for (const resp::reply key : keys) {
        if (key.text().starts_with(prefix)) {
            node_.events.waiters.on_notification(node_.index, notification::key_gone,
                                                 key.text().substr(prefix.size()));
        }
    }
}

}  // namespace redlock::core
