#pragma once

#include "base/instant.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::core {

/// What a reply answers, by its place in a connection's FIFO.
enum class command : std::uint8_t {
    set,         ///< SET NX PX; the vote
    set_asked,   ///< SET NX PX with a PTTL behind it, which brings the vote
    holder_ttl,  ///< that PTTL
    extend,      ///< compare-and-PEXPIRE
    release,     ///< compare-and-delete somebody waits for
    give_back,   ///< compare-and-delete nobody waits for
    owed,        ///< compare-and-delete that was owed: late, or once more
    inspect,     ///< GET and PTTL in one
    ping,        ///< is anybody there?
    handshake,   ///< a step of the handshake
};

/// How a compare-and-delete, or another scripted command, was put on the wire.
enum class form : std::uint8_t {
    evalsha,  ///< by digest; NOSCRIPT is answered by sending it again as eval
    eval,     ///< with the script's text
    delifeq,  ///< by a command of the server's own
    delex,    ///< by that of another server
};

[[nodiscard]] constexpr bool is_script(form f) noexcept
{
    return f == form::evalsha || f == form::eval;
}

/// A command as it stands in the buffer of a node that was asked before: those behind it mostly get
/// the same bytes. Good until that buffer grows.
struct encoded {
    std::string_view bytes;
    form sent_as = form::evalsha;
};

/// A command whose reply has not come.
struct pending {
    /// A `round` for set, set_asked, holder_ttl, extend, release and inspect; a `lease` for
    /// give_back; a `debt` for owed; else null. Counted.
    void* subject = nullptr;
    base::instant sent{};
    command what = command::ping;
    form sent_as = form::evalsha;
};

}  // namespace redlock::core
