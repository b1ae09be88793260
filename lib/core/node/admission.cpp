#include "core/node/admission.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <system_error>

namespace redlock::core {

using base::instant;
using base::nanos;

namespace {

constexpr std::int64_t billion = 1'000'000'000;

/// The longest time between two reads of the marker, which another client may write, and the least
/// number of reads in a wait.
constexpr nanos slowest_pace = std::chrono::seconds{1};
constexpr int looks_a_wait = 8;

/// Follows the fingerprint in a marker. The script that admits the node adds the node's date.
constexpr std::string_view since = " since=";
constexpr std::size_t longest_date = 16;

/// The time for which a client may lose its connection and still find its pending key.
constexpr nanos absence = std::chrono::minutes{1};

/// A share in billionths, at most one billion, as a decimal number.
std::string share_text(std::int64_t ppb)
{
    const std::string digits = std::to_string(billion + ppb % billion).substr(1);
    const std::size_t last = digits.find_last_not_of('0');
    return std::to_string(ppb / billion) +
           (last == digits.npos ? "" : '.' + digits.substr(0, last + 1));
}

/// A node's date in microseconds; 0: the text is not only digits, or too long.
std::int64_t date_of(std::string_view text) noexcept
{
    std::int64_t date = 0;
    const bool fits = text.size() <= longest_date && !text.starts_with('-');
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), date);
    return fits && error == std::errc{} && end == text.data() + text.size() ? date : 0;
}

}  // namespace

std::optional<guard_terms> terms_in(std::string_view marker) noexcept
{
    const auto value = [marker](std::string_view name) noexcept {
        std::int64_t number = -1;
        if (const auto at = marker.find(name); at != marker.npos) {
            const std::string_view text = marker.substr(at + name.size());
            std::from_chars(text.data(), text.data() + text.size(), number);
        }
        return number;
    };
    const std::int64_t nodes = value(" nodes=");
    const std::int64_t max_ttl = value(" max_ttl=");
    const std::int64_t drift = value(" drift=");
    const bool fits = nodes >= 0 && max_ttl >= 0 && max_ttl <= base::max_ttl.count() &&
                      drift >= 0 && drift <= billion;
    return fits ? std::optional(guard_terms{nodes, std::chrono::milliseconds(max_ttl), drift})
                : std::nullopt;
}

std::string disagreement(std::string_view marker, std::string_view run_id)
{
    std::string text =
        "is admitted by clients whose restart_guard, drift_factor or number of nodes differs";
    if (const auto theirs = terms_in(marker.substr(std::min(marker.size(), run_id.size())))) {
        text.append(" (theirs: ")
            .append(std::to_string(theirs->nodes))
            .append(theirs->nodes == 1 ? " node" : " nodes")
            .append(", max_ttl ")
            .append(base::duration_text(theirs->max_ttl))
            .append(", drift_factor ")
            .append(share_text(theirs->drift_ppb))
            .append(")");
    }
    return text;
}

// Connections.

void admission::on_connected(std::string_view run_id)
{
    if (run_id_ != run_id) {
        // It is not known whether this run of the server has lost keys, or when.
        quarantined_ = false;
        forget_wait();
        // `judge` then needs no memory for the date that it reads.
        marker_.reserve(run_id.size() + guard_->fingerprint.size() + since.size() + longest_date);
        marker_.assign(run_id).append(guard_->fingerprint).append(since);
        undated_size_ = marker_.size();
        admitted_us_ = 0;
        run_id_ = run_id;
    }
}

void admission::on_disconnected() noexcept
{
    if (is_guarded() && waits_since_ == instant::max()) {
        forget_wait();
    }
    under_way_ = step::none;
    next_ = instant::max();
}

// The marker.

marker_says admission::judge(std::optional<std::string_view> marker) noexcept
{
    if (admitted_us_ != 0 && marker == marker_) {
        return marker_says::admitted;
    }
    if (!marker || !marker->starts_with(run_id_)) {
        return marker_says::not_admitted;
    }
    const std::int64_t date =
        marker->starts_with(undated_marker()) ? date_of(marker->substr(undated_size_)) : 0;
    if (date == 0) {
        return marker_says::other_configuration;
    }
    marker_.replace(undated_size_, marker_.npos, marker->substr(undated_size_));
    admitted_us_ = date;
    return marker_says::admitted;
}

bool admission::admit() noexcept
{
    const bool is_news = quarantined_;
    quarantined_ = false;
    next_ = instant::max();
    forget_wait();
    return is_news;
}

bool admission::suspend(instant now) noexcept
{
    const bool is_news = !quarantined_;
    if (under_way_ == step::none && next_ == instant::max()) {
        next_ = now;
    }
    quarantined_ = true;
    return is_news;
}

// The wait.

admission::step admission::begin_step(instant now) noexcept
{
    if (under_way_ != step::none || next_ > now) {
        return step::none;
    }
    next_ = instant::max();
    if (waits_since_ == instant::max()) {
        under_way_ = step::leave_pending;
    } else {
        under_way_ = end_of_wait() <= now ? step::admit : step::look;
    }
    return under_way_;
}

void admission::name_pending(std::string_view random)
{
    pending_.assign(base::pending_resource).append(random);
}

nanos admission::pending_life() const noexcept
{
    return 2 * guard_->quarantine + absence;
}

instant admission::end_of_wait() const noexcept
{
    return waits_since_ + wait_;
}

nanos admission::remaining(instant now) const noexcept
{
    return waits_since_ == instant::max() ? wait_ : std::max(end_of_wait() - now, nanos{});
}

void admission::on_pending_left(instant now) noexcept
{
    if (quarantined_) {
        waits_since_ = now;
        next_ = std::min(now + pace(), end_of_wait());
    }
}

void admission::on_pending_gone(instant now) noexcept
{
    forget_wait();
    next_ = now;
}

void admission::on_unchanged(instant now) noexcept
{
    if (!quarantined_) {
        return;
    }
    next_ = now + pace();
    if (waits_since_ == instant::max()) {
        forget_wait();
    } else if (end_of_wait() > now) {
        next_ = std::min(next_, end_of_wait());
    }
}

void admission::forget_wait() noexcept
{
    wait_ = guard_->quarantine;
    waits_since_ = instant::max();
}

nanos admission::pace() const noexcept
{
    return std::min(slowest_pace, guard_->quarantine / looks_a_wait);
}

}  // namespace redlock::core
