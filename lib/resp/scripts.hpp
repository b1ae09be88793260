#pragma once

#include <cstddef>
#include <string_view>

/**
 * The scripts a node runs for us.
 *
 * They touch only the keys they are given, and have no shebang: a node without memory to spare
 * refuses a script that has one before it runs, while these go on working there.
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
inline constexpr std::size_t longest_owner_told = 64;
inline constexpr script inspect_script{
    "local v = redis.call(\"get\",KEYS[1])\n"
    "return {v and string.sub(v,1,64),redis.call(\"pttl\",KEYS[1])}",
    "66bff2d4e53a99bdaabd30b9855cea2fe14bf6a8"};

/// Stores the label ARGV[1] for ARGV[2] milliseconds, or as long as the label that is there, unless
/// the key holds something other than a label. 1: stored; 0: not.
inline constexpr script label_script{
    "local v = redis.pcall(\"getrange\",KEYS[1],0,8)\n"
    "if v == \"\" then\n"
    "    return redis.call(\"set\",KEYS[1],ARGV[1],\"px\",ARGV[2],\"nx\") and 1 or 0\n"
    "end\n"
    "if type(v) ~= \"string\" or not string.find(v,\"^%x%x%x%x%x%x%x%x $\") then\n"
    "    return 0\n"
    "end\n"
    "local left = redis.call(\"pttl\",KEYS[1])\n"
    "redis.call(\"set\",KEYS[1],ARGV[1],\"px\",math.max(ARGV[2],left))\n"
    "return 1",
    "538f5dc457bb9d7643f4645fbea88b6027e80288"};

/// Increments the counter KEYS[1] and gives it a ttl of ARGV[3]. One that is new, or was lost, is
/// set to ARGV[1] instead, a client's clock in microseconds, brought within half of ARGV[2] of the
/// node's; with ARGV[1] at 0 it counts from one. What the counter is then.
inline constexpr script count_script{
    "local counter = tonumber(redis.call(\"get\",KEYS[1]) or \"0\")\n"
    "local value = tonumber(ARGV[1])\n"
    "if counter and counter < 1e15 and value > 0 then\n"
    "    local time = redis.call(\"time\")\n"
    "    local now = time[1]*1000000+time[2]\n"
    "    local half = tonumber(ARGV[2])/2\n"
    "    value = math.max(now-half,math.min(value,now+half))\n"
    "    redis.call(\"set\",KEYS[1],string.format(\"%.0f\",value),\"px\",ARGV[3])\n"
    "    return value\n"
    "end\n"
    "counter = redis.call(\"incr\",KEYS[1])\n"
    "redis.call(\"pexpire\",KEYS[1],ARGV[3])\n"
    "return counter",
    "95a04dc6b76979194ec11de70b2d1f0abcb999cc"};

/// Raises the fencing counters, the second half of the keys, to ARGV[2] if that is more than each
/// of them and the locks, the first half, are all ARGV[1]. If one of them is below ARGV[6], and so
/// is new, was lost or is of an earlier time, they are raised no less than to ARGV[3], a client's
/// clock in microseconds, brought within half of ARGV[4] of the node's. No counter is raised
/// farther than ARGV[4] beyond the node's time. ARGV[5] is their ttl. More than 0: they were raised
/// to that; 0: a lock is not ours; less: the highest stands at that without the sign.
inline constexpr script raise_script{
    "local n = #KEYS/2\n"
    "for i = 1,n do\n"
    "    if redis.pcall(\"get\",KEYS[i]) ~= ARGV[1] then\n"
    "        return 0\n"
    "    end\n"
    "end\n"
    "local new = false\n"
    "local highest = 1\n"
    "for i = n+1,2*n do\n"
    "    local counter = tonumber(redis.call(\"get\",KEYS[i]) or \"0\")\n"
    "    if counter == nil then\n"
    "        return -1\n"
    "    end\n"
    "    new = new or counter < tonumber(ARGV[6])\n"
    "    highest = math.max(highest,counter)\n"
    "end\n"
    "local time = redis.call(\"time\")\n"
    "local now = time[1]*1000000+time[2]\n"
    "local slack = tonumber(ARGV[4])\n"
    "local value = tonumber(ARGV[2])\n"
    "if new then\n"
    "    local date = math.max(now-slack/2,math.min(tonumber(ARGV[3]),now+slack/2))\n"
    "    value = value > now+slack and date or math.max(value,date)\n"
    "end\n"
    "if value > now+slack or value <= highest then\n"
    "    return -highest\n"
    "end\n"
    "for i = n+1,2*n do\n"
    "    redis.call(\"set\",KEYS[i],string.format(\"%.0f\",value),\"px\",ARGV[5])\n"
    "end\n"
    "return value",
    "586c90f576aa5098072f303d054dc76666ebc4c9"};

// Of several resources that are locked as one.

/// Sets all of the first ARGV[3] keys to ARGV[1] with a ttl of ARGV[2], if none of them is there,
/// and the fencing counters behind them, if there are any, to one value beyond all of them; these
/// first, as a script that fails is not undone. A counter below ARGV[7] is new, or was lost: then
/// they are set no lower than to ARGV[4], a client's clock in microseconds, brought within half of
/// ARGV[5] of the node's, or, with ARGV[4] at 0, left as they are. So they are too where one that
/// ran farther than ARGV[5] beyond the node's time would take along another that did not; and where
/// they would go beyond what scripts can count to it is an error. ARGV[6] is their ttl. An array:
/// 0 and the counters' value, 1 where they were left, 0 without counters; or which key is in the
/// way, counted from 1, and its remaining ttl as PTTL gives it.
inline constexpr script take_script{
    "local n = tonumber(ARGV[3])\n"
    "for i = 1,n do\n"
    "    local ttl = redis.call(\"pttl\",KEYS[i])\n"
    "    if ttl ~= -2 then\n"
    "        return {i,ttl}\n"
    "    end\n"
    "end\n"
    "local value = 0\n"
    "if #KEYS > n then\n"
    "    local new = false\n"
    "    local lowest = math.huge\n"
    "    for i = n+1,2*n do\n"
    "        local counter = tonumber(redis.call(\"get\",KEYS[i]) or \"0\")\n"
    "        if counter == nil then\n"
    "            return redis.error_reply(\"ERR a fencing counter is no number\")\n"
    "        end\n"
    "        new = new or counter < tonumber(ARGV[7])\n"
    "        lowest = math.min(lowest,counter)\n"
    "        value = math.max(value,counter)\n"
    "    end\n"
    "    value = value+1\n"
    "    local time = redis.call(\"time\")\n"
    "    local now = time[1]*1000000+time[2]\n"
    "    local slack = tonumber(ARGV[5])\n"
    "    local seed = tonumber(ARGV[4])\n"
    "    if new and seed > 0 then\n"
    "        value = math.max(value,now-slack/2,math.min(seed,now+slack/2))\n"
    "    end\n"
    "    if (new and seed == 0) or (value > now+slack and lowest <= now+slack) then\n"
    "        value = 1\n"
    "    elseif value > 9007199254740989 then\n"
    "        return redis.error_reply(\"ERR a fencing counter is at its end\")\n"
    "    else\n"
    "        for i = n+1,2*n do\n"
    "            redis.call(\"set\",KEYS[i],string.format(\"%.0f\",value),\"px\",ARGV[6])\n"
    "        end\n"
    "    end\n"
    "end\n"
    "for i = 1,n do\n"
    "    redis.call(\"set\",KEYS[i],ARGV[1],\"px\",ARGV[2])\n"
    "end\n"
    "return {0,value}",
    "cfafeca0d2c888831ff26abbbc20983ab423a5d7"};

/// Deletes those of the keys whose value is ARGV[1]. 1: all were; 0: another value, or no key,
/// among them.
inline constexpr script release_all_script{
    "local all = 1\n"
    "for i = 1,#KEYS do\n"
    "    if redis.pcall(\"get\",KEYS[i]) == ARGV[1] then\n"
    "        redis.call(\"del\",KEYS[i])\n"
    "    else\n"
    "        all = 0\n"
    "    end\n"
    "end\n"
    "return all",
    "f47b0024000ea2d62a7652b291439b39f5592cc3"};

/// Makes the keys live ARGV[2] milliseconds or longer if the value of each is ARGV[1]. 1: they do;
/// else 1 less the number of the first key that is missing or has another value, counted from 1.
inline constexpr script extend_all_script{
    "for i = 1,#KEYS do\n"
    "    if redis.pcall(\"get\",KEYS[i]) ~= ARGV[1] then\n"
    "        return 1-i\n"
    "    end\n"
    "end\n"
    "for i = 1,#KEYS do\n"
    "    if redis.call(\"pttl\",KEYS[i]) < tonumber(ARGV[2]) then\n"
    "        redis.call(\"pexpire\",KEYS[i],ARGV[2])\n"
    "    end\n"
    "end\n"
    "return 1",
    "ef70db737397bf9dd198bba5f483a53539f16c46"};

// Of the restart guard.

/// Admits a server that has waited: sets the marker KEYS[2] to ARGV[2] and the node's time in
/// microseconds, if the pending key KEYS[1] is still there, which holds ARGV[1], the server's run
/// id. A marker that names this run already is left as it is. The marker as it is then; null: the
/// pending key is gone, and nothing was done. So seldom that it is sent with its text.
inline constexpr std::string_view admit_script =
    "local m = redis.call(\"get\",KEYS[2])\n"
    "if m and string.sub(m,1,string.len(ARGV[1])) == ARGV[1] then\n"
    "    return m\n"
    "end\n"
    "if redis.call(\"get\",KEYS[1]) ~= ARGV[1] then\n"
    "    return false\n"
    "end\n"
    "local time = redis.call(\"time\")\n"
    "m = ARGV[2]..string.format(\"%.0f\",time[1]*1000000+time[2])\n"
    "redis.call(\"set\",KEYS[2],m)\n"
    "redis.call(\"del\",KEYS[1])\n"
    "return m";

}  // namespace redlock::resp
