#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

/**
 * Commands, written behind what an output buffer already holds.
 *
 * A command is always an array of bulk strings with their lengths before them: no argument is ever
 * escaped, quoted or looked into, so that any bytes are data. The key is `prefix` followed by
 * `resource`, in one bulk string. Each function grows the buffer at most once; what it is given
 * must not lie in the buffer.
 */
namespace redlock::resp {

/// Any command, from its words.
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

/// PTTL key
void append_pttl(std::string& out, std::string_view prefix, std::string_view resource);

/// PING
void append_ping(std::string& out);

/// HELLO 3 [AUTH user password] [SETNAME name]. AUTH where a user or a password is given, the user
/// being "default" where it is not; SETNAME where a name is given.
void append_hello(std::string& out, std::string_view user, std::string_view password,
                  std::string_view client_name);

/// AUTH [user] password, without the user where it is empty, as servers before ACLs want it.
void append_auth(std::string& out, std::string_view user, std::string_view password);

/// SELECT db
void append_select(std::string& out, std::uint32_t db);

/// CLIENT SETNAME name
void append_client_setname(std::string& out, std::string_view name);

/// SCRIPT LOAD text
void append_script_load(std::string& out, std::string_view text);

/// COMMAND INFO name...
void append_command_info(std::string& out, std::initializer_list<std::string_view> names);

}  // namespace redlock::resp
