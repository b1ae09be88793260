#pragma once

#include "core/node/command.hpp"
#include "core/node/replies.hpp"
#include "core/node/words.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace redlock::core {

/// The properties of one command.
struct command_traits {
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
    void (*append)(std::string&, const wording&, const pending&);
    /// False: the connection was given up.
    bool (*on_reply)(node_parts&, const pending&, const resp::reply&);
    /// The connection was lost before the reply. Null: nothing follows from that.
    void (*on_lost)(node_parts&, const pending&) noexcept = nullptr;
};

/// The table of all commands. A new command needs a row here and the function for its reply.
[[nodiscard]] inline const command_traits& traits_of(command what) noexcept
{
    using enum command;
    using purpose = command_traits::purpose;
    constexpr auto usual = purpose::ordinary;
    constexpr auto frees = purpose::release;
    constexpr auto extra = purpose::extra;
    constexpr auto none = command_subject::kind::none;
    constexpr auto asked = command_subject::kind::round;
    constexpr auto held = command_subject::kind::lease;
    constexpr auto late = command_subject::kind::pending_release;
    constexpr auto several = command_subject::kind::batch;
    // clang-format off
    static constexpr std::array<command_traits, static_cast<std::size_t>(handshake) + 1> rows{{
        {set, asked, usual, append_set, on_set, on_vote_lost},
        {take, asked, usual, append_take, on_take, on_vote_lost},
        {marker, asked, usual, append_marker, on_marker, on_vote_lost},
        {holder_ttl, asked, usual, append_holder_ttl, on_holder_ttl, on_vote_lost},
        {holder_label, asked, extra, append_holder_label, on_holder_label, on_vote_lost},
        {set_label, none, extra, nullptr, on_set_label},
        {drop_label, none, extra, nullptr, on_drop},
        {increment, asked, usual, append_increment, on_increment, on_increment_lost},
        {count, asked, usual, append_count, on_count, on_vote_lost},
        {repair_expiry, held, usual, append_repair, on_repair, on_repair_lost},
        {align, asked, usual, append_align, on_align, on_align_lost},
        {extend, asked, usual, append_extend, on_extend, on_vote_lost},
        {release, asked, frees, append_release, on_release, on_release_lost},
        {background_release, held, frees, append_release, on_release, on_release_lost},
        {pending_release, late, frees, append_release, on_release, on_release_lost},
        {release_batch, several, usual, append_release_batch, on_batch, on_batch_lost},
        {extend_batch, several, usual, append_extend_batch, on_batch, on_batch_lost},
        {inspect, asked, usual, append_inspect, on_inspect, on_vote_lost},
        {admission, none, usual, append_admission, on_admission},
        {start_tracking, none, extra, append_start_tracking, on_tracking},
        {end_tracking, none, extra, append_end_tracking, on_tracking},
        {caching, none, extra, append_caching, on_tracking, on_caching_lost},
        {watch, held, usual, nullptr, on_watch},
        {queue, held, extra, nullptr, on_place},
        {leave, held, extra, nullptr, on_left},
        {drop_ticket, none, extra, nullptr, on_drop},
        {queue_state, asked, extra, append_queue_state, on_queue_state},
        {role, none, usual, append_role, on_role},
        {ping, none, usual, append_ping, on_ping},
        {handshake, none, extra, nullptr, on_handshake},
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

}  // namespace redlock::core
