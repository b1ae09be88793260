#pragma once

#include "base/instant.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <string_view>

namespace redlock::core {

struct batch;
struct pending_release;
struct lease;
struct round;

/// A command for a node. The table of `traits_of` has its words, and what follows from its reply or
/// from the loss of its connection.
enum class command : std::uint8_t {
    set,                 ///< SET NX PX. It is the vote.
    take,                ///< A script that sets several keys, all or none. It is the vote.
    marker,              ///< GET of the restart guard's marker. It proves the vote before it.
    holder_ttl,          ///< PTTL after a SET. It completes the vote if the SET was refused.
    holder_label,        ///< GETRANGE of the holder's label.
    set_label,           ///< A script that stores the label of a lock that the client holds.
    drop_label,          ///< Compare-and-delete of that label.
    increment,           ///< INCR of the fencing counter after a SET.
    count,               ///< A script that increments a fencing counter that may be new.
    repair_expiry,       ///< That script again, for a counter that may have no ttl.
    align,               ///< A script that aligns the counter to a value for a majority.
    extend,              ///< Compare-and-PEXPIRE.
    release,             ///< Compare-and-delete that a caller waits for.
    background_release,  ///< Compare-and-delete that no caller waits for.
    pending_release,     ///< Compare-and-delete that is sent late or again.
    release_batch,       ///< Several of these compare-and-deletes, in one script.
    extend_batch,        ///< Several extends in one script.
    inspect,             ///< GET and PTTL in one script.
    admission,           ///< A step of the restart guard.
    start_tracking,      ///< CLIENT TRACKING ON: asks for notifications of keys that are read.
    end_tracking,        ///< CLIENT TRACKING OFF.
    caching,             ///< CLIENT CACHING YES: the next command reads such a key.
    watch,               ///< PTTL after that, for a key that a waiter wants.
    queue,               ///< A script that takes a ticket in a queue, or asks for its place.
    leave,               ///< A script that gives the ticket back.
    drop_ticket,         ///< That script, for a ticket that an earlier connection left.
    queue_state,         ///< A script that counts the tickets, for an inspect.
    role,                ///< HELLO, INFO replication or ROLE: is the node still a master?
    ping,                ///< PING, or GET of the marker.
    handshake,           ///< A step of the handshake. It is last, for the size of the table.
};

/// Commands that are sent to a node together. Their replies come in the same order.
class command_row {
public:
    constexpr command_row() noexcept = default;
    constexpr command_row(command only) noexcept : commands_{only}, size_(1) {}

    constexpr void push_back(command next) noexcept
    {
        assert(size_ < commands_.size());
        commands_[size_++] = next;
    }

    [[nodiscard]] constexpr std::uint8_t size() const noexcept { return size_; }
    [[nodiscard]] constexpr const command* begin() const noexcept { return commands_.data(); }
    [[nodiscard]] constexpr const command* end() const noexcept { return begin() + size_; }

    friend constexpr bool operator==(command_row a, command_row b) noexcept
    {
        return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    }

private:
    std::array<command, 7> commands_{};
    std::uint8_t size_ = 0;
};

/// The form of a scripted command on the wire.
enum class form : std::uint8_t {
    evalsha,  ///< By digest. After NOSCRIPT, the client sends the text.
    eval,     ///< By the script's text.
    delifeq,  ///< A release by Valkey's DELIFEQ.
    delex,    ///< A release by Redis' DELEX.
    batch,    ///< As one of several in a script.
};

[[nodiscard]] constexpr bool is_script(form f) noexcept
{
    return f == form::evalsha || f == form::eval;
}

/// The record that a command is sent for. The client counts a reference to a round or a lease until
/// the reply. A batch is the record of several commands.
struct command_subject {
    enum class kind : std::uint8_t { none, round, lease, pending_release, batch };

    command_subject() noexcept = default;
    command_subject(round& asked) noexcept : at(&asked), what(kind::round) {}
    command_subject(lease& of, unsigned number = 0) noexcept
        : at(&of),
          what(kind::lease),
          member(static_cast<std::uint16_t>(number))
    {}
    command_subject(pending_release& late) noexcept : at(&late), what(kind::pending_release) {}

    void* at = nullptr;
    kind what = kind::none;
    /// The number of one of several resources, from one; 0: the command is about all.
    std::uint16_t member = 0;
};

/// The words of a row in the buffer of one node, to be copied for the next node. Valid until
/// something else is appended for the first node.
struct encoded_row {
    std::string_view bytes;
    command_row commands{};
    form sent_as = form::evalsha;
    /// The commands are those for any node that needs neither a proof nor a counter.
    bool is_common = false;
};

/// A command without a reply. Its subject is of the kind that `traits_of` says.
struct pending {
    void* subject = nullptr;
    base::instant sent{};
    command what = command::ping;
    form sent_as = form::evalsha;
    std::uint16_t member = 0;  ///< as in `command_subject`

    [[nodiscard]] round& of_round() const noexcept { return *static_cast<round*>(subject); }
    [[nodiscard]] lease& of_lease() const noexcept { return *static_cast<lease*>(subject); }
    [[nodiscard]] pending_release& of_pending_release() const noexcept
    {
        return *static_cast<pending_release*>(subject);
    }
    [[nodiscard]] batch& of_batch() const noexcept { return *static_cast<batch*>(subject); }
};

[[nodiscard]] constexpr bool is_batch(command what) noexcept
{
    return what == command::release_batch || what == command::extend_batch;
}

}  // namespace redlock::core
