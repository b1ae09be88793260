#pragma once

#include "core/node/node.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The commands for a node, and how they are sent.
namespace redlock::core {

/// The properties of one command.
struct node::command_traits {
    enum class purpose : std::uint8_t {
        ordinary,
        release,  ///< counts among the releases that are going out
        extra,    ///< no lock depends on it, so its errors aren't counted as errors of nodes
    };

    command what;
    command_subject::kind subject;
    purpose is_for;
    /// Appends the words to the buffer. Null: the sender appends them, because they depend on more
    /// than the subject.
    void (node::*append)(const pending&);
    /// False: the connection was given up.
    bool (node::*on_reply)(const pending&, const resp::reply&);
    /// The connection was lost before the reply. Null: nothing follows from that.
    void (node::*on_lost)(const pending&) noexcept = nullptr;
};

/// The table of all commands. A new command needs a row here and the function for its reply.
inline const node::command_traits& node::traits_of(command what) noexcept
{
    using enum command;
    using purpose = command_traits::purpose;
    using n = node;
    constexpr auto usual = purpose::ordinary;
    constexpr auto frees = purpose::release;
    constexpr auto extra = purpose::extra;
    constexpr auto none = command_subject::kind::none;
    constexpr auto asked = command_subject::kind::round;
    constexpr auto held = command_subject::kind::lease;
    constexpr auto late = command_subject::kind::pending_release;
    // clang-format off
    static constexpr std::array<command_traits, static_cast<std::size_t>(handshake) + 1> rows{{
        {set, asked, usual, &n::append_set, &n::on_set, &n::on_vote_lost},
        {take, asked, usual, &n::append_take, &n::on_take, &n::on_vote_lost},
        {marker, asked, usual, &n::append_marker, &n::on_marker, &n::on_vote_lost},
        {holder_ttl, asked, usual, &n::append_holder_ttl, &n::on_holder_ttl, &n::on_vote_lost},
        {holder_label, asked, extra, &n::append_holder_label, &n::on_holder_label,
         &n::on_vote_lost},
        {set_label, none, extra, nullptr, &n::on_set_label},
        {drop_label, none, extra, nullptr, &n::on_drop_label},
        {increment, asked, usual, &n::append_increment, &n::on_increment, &n::on_increment_lost},
        {count, asked, usual, &n::append_count, &n::on_count, &n::on_vote_lost},
        {repair_expiry, held, usual, &n::append_repair, &n::on_repair, &n::on_repair_lost},
        {align, asked, usual, &n::append_align, &n::on_align, &n::on_align_lost},
        {extend, asked, usual, &n::append_extend, &n::on_extend, &n::on_vote_lost},
        {release, asked, frees, &n::append_release, &n::on_release, &n::on_release_lost},
        {background_release, held, frees, &n::append_release, &n::on_release, &n::on_release_lost},
        {pending_release, late, frees, &n::append_release, &n::on_release, &n::on_release_lost},
        {inspect, asked, usual, &n::append_inspect, &n::on_inspect, &n::on_vote_lost},
        {admission, none, usual, &n::append_admission, &n::on_admission},
        {start_tracking, none, extra, &n::append_start_tracking, &n::on_tracking},
        {end_tracking, none, extra, &n::append_end_tracking, &n::on_tracking},
        {caching, none, extra, &n::append_caching, &n::on_tracking, &n::on_caching_lost},
        {watch, held, usual, nullptr, &n::on_watch},
        {role, none, usual, &n::append_role, &n::on_role},
        {ping, none, usual, &n::append_ping, &n::on_ping},
        {handshake, none, extra, nullptr, &n::on_handshake},
    }};
    // clang-format on
    constexpr auto are_in_order = [] {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows[i].what != command{static_cast<std::uint8_t>(i)}) {
                return false;
            }
        }
        return true;
    };
    static_assert(are_in_order());
    return rows[static_cast<std::size_t>(what)];
}

/// Appends the words of commands to the buffer: all of them or, when memory runs out, none. The
/// FIFO has room for the commands afterwards.
template <class Append>
[[gnu::always_inline]] inline void node::write(const command_row& row, Append append)
{
    fifo_.reserve(row.size());
    out_.make_room();
    const std::size_t before = out_.last().size();
    try {
        append();
    } catch (...) {
        out_.last().resize(before);
        throw;
    }
}

inline void node::expect(const command_row& row, command_subject subject, form sent_as) noexcept
{
    using kind = command_subject::kind;
    for (const command what : row) {
        const command_traits& traits = traits_of(what);
        assert(traits.subject == kind::none || traits.subject == subject.what);
        fifo_.push({subject.at, context_.now, what, sent_as});
        switch (traits.subject) {
            case kind::round: ++static_cast<round*>(subject.at)->references; break;
            case kind::lease: ++static_cast<lease*>(subject.at)->references; break;
            case kind::none:
            case kind::pending_release: break;
        }
        releases_unanswered_ += traits.is_for == command_traits::purpose::release ? 1U : 0U;
    }
    if (state_ == state::ready) {
        // Too early for those behind the first, and looked at again then.
        wake_up_ = std::min(wake_up_, context_.now + context_.settings.stall_timeout);
    }
    context_.written |= bit(index_);
    context_.stats.commands += row.size();
}

[[gnu::always_inline]] inline void node::send(const command_row& row, command_subject subject,
                                              form f, encoded_row* same)
{
    write(row, [&] {
        if (same == nullptr) {
            append(row, subject, f);
        } else if (same->sent_as == f && same->commands == row) {
            out_.last().append(same->bytes);
        } else {
            const std::size_t before = out_.last().size();
            append(row, subject, f);
            *same = {std::string_view(out_.last()).substr(before), row, f};
        }
    });
    expect(row, subject, f);
}

}  // namespace redlock::core
