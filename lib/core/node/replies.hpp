#pragma once

#include "base/instant.hpp"
#include "core/node/command.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::resp {
class reply;
}  // namespace redlock::resp

// The meaning of a node's replies, and of a connection that is lost before a reply.
namespace redlock::core {

struct node_parts;
enum class script_result : std::uint8_t;

// Each function takes the reply to one command, which `command_table.hpp` names. False: the
// connection was given up.
bool on_set(node_parts& n, const pending& p, const resp::reply& r);
bool on_take(node_parts& n, const pending& p, const resp::reply& r);
bool on_marker(node_parts& n, const pending& p, const resp::reply& r);
bool on_holder_ttl(node_parts& n, const pending& p, const resp::reply& r);
bool on_holder_label(node_parts& n, const pending& p, const resp::reply& r);
bool on_set_label(node_parts& n, const pending& p, const resp::reply& r);
bool on_drop(node_parts& n, const pending& p, const resp::reply& r);
bool on_increment(node_parts& n, const pending& p, const resp::reply& r);
bool on_count(node_parts& n, const pending& p, const resp::reply& r);
bool on_repair(node_parts& n, const pending& p, const resp::reply& r);
bool on_align(node_parts& n, const pending& p, const resp::reply& r);
bool on_extend(node_parts& n, const pending& p, const resp::reply& r);
bool on_release(node_parts& n, const pending& p, const resp::reply& r);
bool on_batch(node_parts& n, const pending& p, const resp::reply& r);
bool on_inspect(node_parts& n, const pending& p, const resp::reply& r);
bool on_admission(node_parts& n, const pending& p, const resp::reply& r);
bool on_tracking(node_parts& n, const pending& p, const resp::reply& r);
bool on_watch(node_parts& n, const pending& p, const resp::reply& r);
bool on_place(node_parts& n, const pending& p, const resp::reply& r);
bool on_left(node_parts& n, const pending& p, const resp::reply& r);
bool on_queue_state(node_parts& n, const pending& p, const resp::reply& r);
bool on_role(node_parts& n, const pending& p, const resp::reply& r);
bool on_ping(node_parts& n, const pending& p, const resp::reply& r);
bool on_handshake(node_parts& n, const pending& p, const resp::reply& r);

// Each function is for a command whose connection was lost before the reply.
void on_vote_lost(node_parts& n, const pending& p) noexcept;
void on_increment_lost(node_parts& n, const pending& p) noexcept;
void on_repair_lost(node_parts& n, const pending& p) noexcept;
void on_align_lost(node_parts& n, const pending& p) noexcept;
void on_release_lost(node_parts& n, const pending& p) noexcept;
void on_batch_lost(node_parts& n, const pending& p) noexcept;
void on_caching_lost(node_parts& n, const pending& p) noexcept;

// Functions that several replies share.
/// Gives the connection up after a reply that cannot belong to the command: replies and commands
/// may no longer match. Returns false.
bool on_nonsense(node_parts& n, const pending& p);
/// Gives the connection up after a marker of clients with another configuration. Returns false.
bool give_up_as_of_others(node_parts& n, const resp::reply& marker);
/// No reply will come: does what follows from that.
void forget_command(node_parts& n, const pending& p) noexcept;
/// The node has set or extended the keys. Casts its vote, unless that still needs a proof or a
/// counter.
void on_granted(node_parts& n, round& asked);
/// Casts the vote of a node that granted, if its proof and its counter have come.
void cast_vote(node_parts& n, round& asked);
/// Does what follows from the result of an extend or a release. False: the connection was given up.
bool take_extend(node_parts& n, const pending& p, script_result result, const resp::reply& r);
bool take_release(node_parts& n, const pending& p, script_result result, const resp::reply& r);
/// Sends a command again that may set or extend keys until `ttl` from now.
void ask_again(node_parts& n, const pending& p, base::nanos ttl);
/// Takes the value that the counter of a node that granted was incremented to.
void take_counter(node_parts& n, round& asked, std::int64_t value);
/// The text to show for an error of a command that increments a counter. If the counter's value or
/// key is at fault, the text names that key so that an operator can look at it.
[[nodiscard]] std::string counter_error(const node_parts& n, const lease& l, const resp::reply& r);
/// The text to show for an error, without the password.
[[nodiscard]] std::string error_of(const node_parts& n, const resp::reply& r);
/// A key in a text: printable, and cut if it is very long.
[[nodiscard]] std::string key_text(const node_parts& n, std::string_view resource,
                                   std::string_view suffix);

}  // namespace redlock::core
