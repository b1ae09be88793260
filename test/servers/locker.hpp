#pragma once

#include "support/locks.hpp"
#include "support/server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

namespace redlock::test {

/// Creates a user with the minimal permissions of docs/wire.md and with `more`. Later words
/// override earlier ones.
inline void add_locker(const server& node, const std::vector<std::string>& more = {})
{
    std::vector<std::string> rule{
        "ACL",           "SETUSER", "locker", "reset",    "on",      ">hush", "~app:*", "-@all",
        "resetchannels", "+hello",  "+auth",  "+ping",    "+select", "+set",  "+get",   "+del",
        "+pexpire",      "+pttl",   "+eval",  "+evalsha", "+incr",   "+time"};
    rule.insert(rule.end(), more.begin(), more.end());
    REQUIRE(node.command(rule) == "OK");
}

inline config as_locker(const server& node)
{
    auto c = patient({node.url("locker", "hush")});
    c.key_prefix = "app:";
    return c;
}

}  // namespace redlock::test
