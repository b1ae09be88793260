#include "core/node/restart_guard.hpp"

#include "base/owner_token.hpp"

#include <chrono>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace redlock::core {

namespace {

constexpr std::string_view restarted = "it was restarted: its marker names another run of it";
constexpr std::string_view forgot = "its marker is missing: it has lost its keys, or is new";
constexpr std::string_view unsure = "its marker is missing, or names another run of it";

/// The text of a reply to GET; empty: the reply is a null.
std::optional<std::string_view> text_of(const resp::reply& r) noexcept
{
    return r.is_null() ? std::nullopt : std::optional{r.text()};
}

}  // namespace

bool restart_guard::begin_connection(const handshake& greeting)
{
    if (!is_on()) {
        return true;
    }
    admission_.on_connected(greeting.run_id());
    return admission_.judge(greeting.marker()) != marker_says::other_configuration;
}

void restart_guard::on_ready(const handshake& greeting, bool is_first)
{
    if (!is_on()) {
        return;
    }
    const std::optional<std::string>& marker = greeting.marker();
    if (admission_.judge(marker) == marker_says::admitted) {
        be_admitted();
        return;
    }
    const bool is_news = admission_.suspend(node_.now());
    if (is_first && !marker && node_.shared.settings.guard->admit_new_nodes) {
        admission_.trust();
    } else if (is_news) {
        suspect(marker ? restarted : forgot);
    }
}

void restart_guard::send_step()
{
    if (!is_on()) {
        return;
    }
    const admission::step next = admission_.begin_step(node_.now());
    if (next == admission::step::leave_pending) {
        const auto random = base::owner_token::make(node_.shared.random);
        if (!random) {
            static_cast<void>(admission_.end_step());
            admission_.on_unchanged(node_.now());
            return;
        }
        admission_.name_pending(random->view());
    }
    if (next != admission::step::none) {
        requests_.send(command::admission, {});
    }
}

marker_says restart_guard::on_marker(const resp::reply& marker)
{
    const marker_says says = admission_.judge(text_of(marker));
    draw_consequences(says, marker.is_null());
    return says;
}

void restart_guard::draw_consequences(marker_says says, bool is_missing) noexcept
{
    switch (says) {
        case marker_says::admitted: be_admitted(); return;
        case marker_says::not_admitted:
            if (admission_.suspend(node_.now())) {
                suspect(is_missing ? forgot : restarted);
            }
            node_.wake_by(admission_.next_step());
            return;
        case marker_says::other_configuration: return;  // the caller gives the connection up
    }
}

bool restart_guard::on_answer(admission::step asked, const resp::reply& r)
{
    if (asked == admission::step::leave_pending && r.is_null()) {
        cannot_be_admitted("the pending key is there already");
    } else if (asked == admission::step::leave_pending) {
        on_pending_left();
    } else if (asked == admission::step::admit && r.is_null()) {
        admission_.on_pending_gone(node_.now());
    } else {
        const marker_says says = admission_.judge(text_of(r));
        if (says == marker_says::not_admitted) {
            admission_.on_unchanged(node_.now());
        }
        draw_consequences(says, r.is_null());
        return says != marker_says::other_configuration;
    }
    return true;
}

void restart_guard::cannot_be_admitted(std::string why)
{
    admission_.on_unchanged(node_.now());
    if (admission_.is_quarantined() && reason_ != why) {
        reason_ = std::move(why);
        node_.shared.log(log_level::warning,
                         {node_.address.display, " cannot be admitted: ", reason_});
    }
}

void restart_guard::be_admitted() noexcept
{
    if (admission_.admit()) {
        reason_.clear();
        node_.shared.log(log_level::info, {node_.address.display, " is admitted: its votes count"});
    }
}

void restart_guard::suspect(std::string_view reason) noexcept
{
    try {
        reason_ = reason;
    } catch (const std::bad_alloc&) {
        reason_.clear();
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(admission_.remaining(node_.now()));
    node_.shared.log(log_level::warning,
                     {node_.address.display, " may have forgotten locks, and does not vote for ",
                      std::to_string(left.count()), " ms: ", reason});
}

void restart_guard::on_pending_left()
{
    admission_.on_pending_left(node_.now());
    if (reason_ != restarted && reason_ != forgot) {
        reason_ = unsure;  // replaces the reason of an earlier refusal
    }
}

}  // namespace redlock::core
