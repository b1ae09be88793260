#pragma once

#include <string_view>

/**
 * The scripts a node runs for us.
 *
 * They touch only their one key, and have no shebang: a node without memory to spare refuses a
 * script that has one before it runs, while these go on working there.
 */
namespace redlock::resp {

/// A script and the digest by which a node knows it: constants, so that no digest is ever computed.
struct script {
    std::string_view text;
    std::string_view sha1;
};

/// Deletes the key if its value is ARGV[1]. 1: deleted; 0: another value, or no key.
inline constexpr script release_script{
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
    "    return redis.call(\"del\",KEYS[1])\n"
    "else\n"
    "    return 0\n"
    "end",
    "647c65a442733a1aa440f99908d249d13b4d6c4a"};

/// Makes the key live ARGV[2] milliseconds or longer if its value is ARGV[1]. 1: it does; 0:
/// another value, or no key. It never shortens: one that was held up on a lost connection may be
/// executed behind a longer one.
inline constexpr script extend_script{
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
    "    if redis.call(\"pttl\",KEYS[1]) < tonumber(ARGV[2]) then\n"
    "        redis.call(\"pexpire\",KEYS[1],ARGV[2])\n"
    "    end\n"
    "    return 1\n"
    "else\n"
    "    return 0\n"
    "end",
    "d5acb5c7c024cae8dac2c0506d98c6233f858abc"};

/// An array of the first 64 bytes of the key's value, null if there is none, and its remaining ttl
/// as PTTL gives it. More than an owner token needs is cut off on the node: a key of another
/// program may hold any amount.
inline constexpr script inspect_script{
    "local v = redis.call(\"get\",KEYS[1])\n"
    "return {v and string.sub(v,1,64),redis.call(\"pttl\",KEYS[1])}",
    "66bff2d4e53a99bdaabd30b9855cea2fe14bf6a8"};

}  // namespace redlock::resp
