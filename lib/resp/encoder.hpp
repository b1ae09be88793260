#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

/**
 * Encodes commands and appends them to an output buffer.
 *
 * A command is always an array of bulk strings with their lengths in front. No argument is escaped,
 * quoted or parsed, so an argument may contain any bytes. The key is `prefix` followed by
 * `resource`, in one bulk string. Each function grows the buffer at most once. Its arguments must
 * not lie in the buffer.
 */
namespace redlock::resp {

/// Appends any command, given as words.
void append_command(std::string& out, std::initializer_list<std::string_view> args);

/// SET key token NX PX ttl_ms
void append_set_nx_px(std::string& out, std::string_view prefix, std::string_view resource,
                      std::string_view token, std::int64_t ttl_ms);

/// EVALSHA sha1 1 key [arg [arg2]]
void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource);
void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource, std::string_view arg);
void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource, std::string_view arg, std::string_view arg2);
void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource, std::string_view arg, std::int64_t arg2);

/// EVAL text 1 key [arg [arg2]]
void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource);
void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource, std::string_view arg);
void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource, std::string_view arg, std::string_view arg2);
void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource, std::string_view arg, std::int64_t arg2);

/// DELIFEQ key token: the compare-and-delete of Valkey 9 and later.
void append_delifeq(std::string& out, std::string_view prefix, std::string_view resource,
                    std::string_view token);

/// DELEX key IFEQ token: the compare-and-delete of Redis 8.4 and later.
void append_delex(std::string& out, std::string_view prefix, std::string_view resource,
                  std::string_view token);

/// INCR counter. The counter is the key followed by `suffix`.
void append_incr(std::string& out, std::string_view prefix, std::string_view resource,
                 std::string_view suffix);

/// The arguments of the counting script after its key.
struct count_arguments {
    /// The client's clock in microseconds, for a new counter. 0 means that a new counter starts at
    /// one.
    std::int64_t seed_us = 0;
    /// How far a counter may be ahead of the node's own time, in microseconds.
    std::int64_t slack_us = 0;
    std::int64_t ttl_ms = 0;
};

/// EVALSHA sha1 1 counter seed_us slack_us ttl_ms
void append_evalsha_count(std::string& out, std::string_view sha1, std::string_view prefix,
                          std::string_view resource, std::string_view suffix,
                          const count_arguments& args);

/// EVAL text 1 counter seed_us slack_us ttl_ms
void append_eval_count(std::string& out, std::string_view text, std::string_view prefix,
                       std::string_view resource, std::string_view suffix,
                       const count_arguments& args);

/// The keys of a command: `prefix` followed by each name. If there is a `suffix`, the same keys
/// follow again with the suffix.
struct key_list {
    std::string_view prefix;
    std::span<const std::string> names;
    std::string_view suffix;
};

/// EVALSHA sha1, or EVAL text, then the number of keys, the keys, args...
void append_script(std::string& out, std::string_view command, std::string_view script,
                   const key_list& keys, std::initializer_list<std::string_view> args);

/// GET key
void append_get(std::string& out, std::string_view prefix, std::string_view resource);

/// GETRANGE key 0 last. The key ends with `suffix`.
void append_getrange(std::string& out, std::string_view prefix, std::string_view resource,
                     std::string_view suffix, std::int64_t last);

/// PTTL key
void append_pttl(std::string& out, std::string_view prefix, std::string_view resource);

/// PING
void append_ping(std::string& out);

/// HELLO 3 [AUTH user password] [SETNAME name]. Contains AUTH if there is a user or a password; an
/// empty user becomes "default". Contains SETNAME if there is a name.
void append_hello(std::string& out, std::string_view user, std::string_view password,
                  std::string_view client_name);

/// AUTH [user] password. An empty user is left out, because servers before ACLs take only the
/// password.
void append_auth(std::string& out, std::string_view user, std::string_view password);

/// SELECT db
void append_select(std::string& out, std::uint32_t db);

/// CLIENT SETNAME name
void append_client_setname(std::string& out, std::string_view name);

/// SCRIPT LOAD text
void append_script_load(std::string& out, std::string_view text);

/// INFO section
void append_info(std::string& out, std::string_view section);

/// COMMAND INFO name...
void append_command_info(std::string& out, std::initializer_list<std::string_view> names);

}  // namespace redlock::resp
