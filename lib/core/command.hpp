#pragma once

#include "base/instant.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::core {

/// What a reply answers, by its place in a connection's FIFO.
enum class command : std::uint8_t {
    set,         ///< SET NX PX; the vote
    set_asked,   ///< SET NX PX with a PTTL behind it, which brings the vote
    take,        ///< the keys of several resources, all or none, by a script; the vote
    marker,      ///< GET of the restart guard's marker, behind a SET or an extend, which it proves
    holder_ttl,  ///< that PTTL
    holder_label,  ///< GETRANGE of the label of whoever has the resource, for a report
    set_label,     ///< SET of the label of a lock that the client has
    drop_label,    ///< compare-and-delete of that
    increment,     ///< INCR of the fencing counter behind a SET; of a node that granted, the vote
    count,         ///< the same by a script, of a counter that may be new
    mend,          ///< the script once more, of a counter that may have been begun without a ttl
    raise,         ///< the fencing counter to where a majority can agree
    extend,        ///< compare-and-PEXPIRE
    release,       ///< compare-and-delete somebody waits for
    give_back,     ///< compare-and-delete nobody waits for
    owed,          ///< compare-and-delete that was owed: late, or once more
    inspect,       ///< GET and PTTL in one
    admission,     ///< a step of the restart guard's
    tracking,   ///< CLIENT TRACKING, on or off: the server tells when a key that was read changes
    caching,    ///< CLIENT CACHING YES: the command behind it reads such a key
    watch,      ///< PTTL behind that, of a key that is waited for
    role,       ///< HELLO, INFO replication or ROLE: is it still a master?
    ping,       ///< is anybody there?
    handshake,  ///< a step of the handshake
};

/// How a compare-and-delete, or another scripted command, was put on the wire.
enum class form : std::uint8_t {
    evalsha,  ///< by digest; NOSCRIPT is answered by sending it again as eval
    eval,     ///< with the script's text: once, or always where no digest is permitted
    delifeq,  ///< by a command of the server's own
    delex,    ///< by that of another server
};

[[nodiscard]] constexpr bool is_script(form f) noexcept
{
    return f == form::evalsha || f == form::eval;
}

/// No lock depends on it: its error is not counted as one of the node.
[[nodiscard]] constexpr bool can_do_without(command c) noexcept
{
    return c == command::holder_label || c == command::set_label || c == command::drop_label ||
           c == command::handshake || c == command::tracking || c == command::caching;
}

/// A command, or a row of them, as it stands in the buffer of a node that was asked before: those
/// behind it mostly get the same bytes. Good until that node is asked anything else.
struct encoded {
    std::string_view bytes;
    form sent_as = form::evalsha;
    /// The row has a `count` in it, and a `marker`.
    bool counts_by_script = false;
    bool proves = false;
};

/// What a node said of how long a key lives, in milliseconds or below zero, and when it was asked.
struct told_ttl {
    std::int64_t ms = 0;
    base::instant asked{};
};

/// A command whose reply has not come.
struct pending {
    /// A `lease` for give_back, mend and watch; a `debt` for owed; nothing that counts for
    /// set_label, drop_label, tracking, caching, role, ping and handshake; else a `round`. Counted.
    void* subject = nullptr;
    base::instant sent{};
    command what = command::ping;
    form sent_as = form::evalsha;
};

}  // namespace redlock::core
