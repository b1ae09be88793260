#pragma once

#include <cstddef>
#include <string_view>

/**
 * The scripts that a node runs for the client.
 *
 * They use only the keys that they are given. The queue's scripts also use the keys of tickets, and
 * make their names from the given key of the lock and the tickets in the queue. The scripts have no
 * shebang: a node that is out of memory refuses a script with a shebang before it runs, but still
 * runs these.
 */
namespace redlock::resp {

/// A script and the digest by which a node knows it. The digest is a constant, so that it is never
/// computed.
struct script {
    std::string_view text;
    std::string_view sha1;
};

/// Deletes the key if its value is ARGV[1].
///
/// - 1: deleted;
/// - 0: another value, or no key.
inline constexpr script release_script{
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
    "    return redis.call(\"del\",KEYS[1])\n"
    "else\n"
    "    return 0\n"
    "end",
    "647c65a442733a1aa440f99908d249d13b4d6c4a"};

/// Extends the key's ttl to at least ARGV[2] milliseconds if its value is ARGV[1]. It never
/// shortens the ttl, because a delayed command from a lost connection may run after a longer one.
///
/// - 1: extended;
/// - 0: another value, or no key.
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

/// Deletes each key whose value is the argument of the same number. Returns a string with a digit
/// for each key:
///
/// - 1: deleted;
/// - 0: another value, another type, or no key.
inline constexpr script release_batch_script{
    "local values = redis.call(\"mget\",unpack(KEYS))\n"
    "local ours = {}\n"
    "for i = 1,#KEYS do\n"
    "    if values[i] == ARGV[i] then\n"
    "        ours[#ours+1] = KEYS[i]\n"
    "        values[i] = \"1\"\n"
    "    else\n"
    "        values[i] = \"0\"\n"
    "    end\n"
    "end\n"
    "if ours[1] then\n"
    "    redis.call(\"del\",unpack(ours))\n"
    "end\n"
    "return table.concat(values)",
    "8e9c397693a2b8a5d54e6675299c20a273d95ab0"};

/// Extends the ttl of each key whose value is the argument of the same number. The ttls, in
/// milliseconds, follow these arguments. A server before Redis 7.0 does not know GT, so the script
/// compares there. Returns a string with a digit for each key:
///
/// - 1: extended;
/// - 0: another value, another type, or no key.
inline constexpr script extend_batch_script{
    "local values = redis.call(\"mget\",unpack(KEYS))\n"
    "for i = 1,#KEYS do\n"
    "    if values[i] == ARGV[i] then\n"
    "        local ttl = ARGV[#KEYS+i]\n"
    "        if redis.pcall(\"pexpire\",KEYS[i],ttl,\"gt\") ~= 1 and\n"
    "           redis.call(\"pttl\",KEYS[i]) < tonumber(ttl) then\n"
    "            redis.call(\"pexpire\",KEYS[i],ttl)\n"
    "        end\n"
    "        values[i] = \"1\"\n"
    "    else\n"
    "        values[i] = \"0\"\n"
    "    end\n"
    "end\n"
    "return table.concat(values)",
    "39c63503d42b825a76f94af87365eae243705bba"};

/// Returns an array: the first 64 bytes of the key's value, or null if there is none, and the
/// remaining ttl as PTTL returns it. An owner token needs no more bytes, and the key may belong to
/// another program and be large.
inline constexpr std::size_t longest_owner_told = 64;
inline constexpr script inspect_script{
    "local v = redis.call(\"get\",KEYS[1])\n"
    "return {v and string.sub(v,1,64),redis.call(\"pttl\",KEYS[1])}",
    "66bff2d4e53a99bdaabd30b9855cea2fe14bf6a8"};

/// Stores the label ARGV[1] for ARGV[2] milliseconds, or for the remaining ttl of the existing
/// label if that is longer. Doesn't overwrite a value that isn't a label.
///
/// - 1: stored;
/// - 0: not stored.
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

/// Increments the counter KEYS[1], gives it a ttl of ARGV[3] and returns its value. A new or lost
/// counter starts at ARGV[1], a client's clock in microseconds, limited to within half of ARGV[2]
/// around the node's time. If ARGV[1] is 0, it starts at one.
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

/// Aligns fencing counters. The first half of the keys are locks, the second half are their
/// counters. The script sets all counters to ARGV[2], with a ttl of ARGV[5], under these
/// conditions:
///
/// - The value of every lock is ARGV[1].
/// - The new value is higher than every counter.
/// - The new value is at most ARGV[4] ahead of the node's time.
///
/// If a counter is below ARGV[6], it is new, was lost, or comes from an earlier time. The new value
/// is then at least the date ARGV[3], a client's clock in microseconds, limited to within half of
/// ARGV[4] around the node's time. It is that date alone if ARGV[2] is too far ahead.
///
/// - Above 0: the new value;
/// - 0: the key of a lock is missing or has another value;
/// - below 0: nothing was set, and the highest counter is the number without its sign.
inline constexpr script align_script{
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

// Scripts for several resources that are locked as one.

/// The first words of each error that the scripts return themselves.
inline constexpr std::string_view counter_error = "ERR a fencing counter";

/// Takes several keys. Sets the first ARGV[3] keys to ARGV[1] with a ttl of ARGV[2], if none of
/// them exists. The fencing counters follow the keys, if there are any. The script first sets all
/// of them to one value above all of them, with a ttl of ARGV[6]. They come first because a script
/// that fails isn't undone.
///
/// A counter below ARGV[7] is new or was lost. The value is then at least ARGV[4], a client's clock
/// in microseconds, limited to within half of ARGV[5] around the node's time. The counters stay
/// unchanged in two cases:
///
/// - A counter is new and ARGV[4] is 0.
/// - One counter is more than ARGV[5] ahead of the node's time, and would take along another
///   counter that isn't.
///
/// A value above the largest integer that scripts represent exactly is an error. The script returns
/// an array:
///
/// - 0 and the counters' value, which is 1 if they stay unchanged and 0 if there are none;
/// - or the index of the first existing key, counted from 1, and its remaining ttl as PTTL returns
///   it.
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

/// Deletes each key whose value is ARGV[1].
///
/// - 1: all keys were deleted;
/// - 0: at least one key had another value or didn't exist.
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

/// Extends the ttl of all keys to at least ARGV[2] milliseconds if the value of each is ARGV[1].
///
/// - 1: extended;
/// - 1 - i: the i-th key is the first that is missing or has another value, counted from 1.
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

// Scripts for the queue of the clients that wait for a lock. The queue is a sorted set of tickets.
// The score of a ticket is its number: the node's time in microseconds when the client took the
// ticket, and above the number of the last ticket. Each ticket also has a key, which expires after
// its client is gone.

/// Keeps the place of the ticket ARGV[1] in the queue KEYS[2] of the lock KEYS[1], or adds the
/// ticket. A new ticket goes to the end if ARGV[3] is 0. Otherwise ARGV[3] is the number that the
/// ticket had before. The ticket's key gets a ttl of ARGV[2] milliseconds, and the queue gets twice
/// that ttl. Each write of the key notifies the client after it. So the script writes the key of a
/// known ticket only if less than half of its ttl is left.
///
/// The script removes up to 100 tickets directly before this one if their keys are gone.
///
/// ARGV[4] is how many tickets the client has found before its own again and again while the lock
/// was free, else 0. If they still are as many and the lock doesn't exist, the queue does not move.
/// Then the script first deletes the key of the first ticket, and shortens the ttl of the keys of
/// up to 100 more tickets before this one to 1 s. Each of these changes notifies the client after
/// the ticket. A client that still runs then asks for its place, and so gives its own key the whole
/// ttl.
///
/// If KEYS[2] has another type, nothing is written. If the node is out of memory, nothing is
/// written for a new ticket. If the user may not call PEXPIRE or ZADD, the script writes only the
/// key of a new ticket. It returns an array:
///
/// - how many tickets are before this one;
/// - the ticket directly before it. It is empty if there is none, or if 100 tickets were removed;
/// - the remaining ttl of the lock as PTTL returns it;
/// - the ticket's number;
/// - how many tickets were removed.
inline constexpr script queue_script{
    "local function key(ticket)\n"
    "    return KEYS[1]..\":\"..ticket..\":redlock:ticket\"\n"
    "end\n"
    "local ttl = tonumber(ARGV[2])\n"
    "local number = tonumber(ARGV[3])\n"
    "local lock = redis.call(\"pttl\",KEYS[1])\n"
    "local before = redis.call(\"zrank\",KEYS[2],ARGV[1])\n"
    "local is_new = not before\n"
    "if before then\n"
    "    number = tonumber(redis.call(\"zrange\",KEYS[2],before,before,\"withscores\")[2])\n"
    "else\n"
    "    if number == 0 then\n"
    "        local time = redis.call(\"time\")\n"
    "        number = time[1]*1000000+time[2]\n"
    "        local last = redis.call(\"zrange\",KEYS[2],-1,-1,\"withscores\")[2]\n"
    "        last = tonumber(last or \"0\")\n"
    "        if last < 9007199254740991 then\n"
    "            number = math.max(number,last+1)\n"
    "        end\n"
    "    end\n"
    "    redis.call(\"set\",key(ARGV[1]),\"\",\"px\",ARGV[2])\n"
    "end\n"
    "local has_ttl = redis.call(\"pexpire\",KEYS[2],2*ttl) == 1\n"
    "if is_new then\n"
    "    redis.call(\"zadd\",KEYS[2],string.format(\"%.0f\",number),ARGV[1])\n"
    "    before = redis.call(\"zrank\",KEYS[2],ARGV[1])\n"
    "    if not has_ttl then\n"
    "        redis.call(\"pexpire\",KEYS[2],2*ttl)\n"
    "    end\n"
    "elseif redis.call(\"pttl\",key(ARGV[1])) < ttl/2 then\n"
    "    redis.call(\"set\",key(ARGV[1]),\"\",\"px\",ARGV[2])\n"
    "end\n"
    "if lock == -2 and before > 0 and before == tonumber(ARGV[4]) then\n"
    "    local earlier = redis.call(\"zrange\",KEYS[2],0,math.min(before-1,100))\n"
    "    redis.call(\"del\",key(earlier[1]))\n"
    "    for i = 2,#earlier do\n"
    "        local left = redis.call(\"pttl\",key(earlier[i]))\n"
    "        if left == -1 or left > 1000 then\n"
    "            redis.call(\"pexpire\",key(earlier[i]),1000)\n"
    "        end\n"
    "    end\n"
    "end\n"
    "local nearest = \"\"\n"
    "local removed = 0\n"
    "while before > 0 and removed < 100 do\n"
    "    local ticket = redis.call(\"zrange\",KEYS[2],before-1,before-1)[1]\n"
    "    if redis.call(\"pttl\",key(ticket)) ~= -2 then\n"
    "        nearest = ticket\n"
    "        break\n"
    "    end\n"
    "    redis.call(\"zrem\",KEYS[2],ticket)\n"
    "    removed = removed+1\n"
    "    before = before-1\n"
    "end\n"
    "return {before,nearest,lock,number,removed}",
    "f774068e8ba8f78da7c4d12d9dd2e1ca9e2f596c"};

/// Removes the ticket ARGV[1] from the queue KEYS[2] of the lock KEYS[1], and deletes the ticket's
/// key. If ARGV[1] is empty, the script changes nothing. Returns how many tickets the queue has.
inline constexpr script leave_script{
    "if ARGV[1] ~= \"\" then\n"
    "    redis.call(\"zrem\",KEYS[2],ARGV[1])\n"
    "    redis.call(\"del\",KEYS[1]..\":\"..ARGV[1]..\":redlock:ticket\")\n"
    "end\n"
    "return redis.call(\"zcard\",KEYS[2])",
    "96b52ac8f95f82f7dbe143913603f0db5257fbdf"};

/// Returns an array: how many tickets the queue KEYS[1] has, and the age of the first ticket in
/// milliseconds, or -1 if there is none.
inline constexpr script queue_state_script{
    "local first = redis.call(\"zrange\",KEYS[1],0,0,\"withscores\")\n"
    "if not first[1] then\n"
    "    return {0,-1}\n"
    "end\n"
    "local time = redis.call(\"time\")\n"
    "local age = (time[1]*1000000+time[2]-first[2])/1000\n"
    "return {redis.call(\"zcard\",KEYS[1]),math.max(0,math.min(age,1e15))}",
    "8a280b044f56b2e687f92bdd66f93a0621398e08"};

// Script for the restart guard.

/// Admits a server after its quarantine. If the pending key KEYS[1] still contains ARGV[1], the
/// server's run id, the script sets the marker KEYS[2]. The marker's value is ARGV[2] followed by
/// the node's time in microseconds. A marker with this run id stays unchanged. Returns the marker,
/// or null if the pending key is gone. The script is so rare that the client always sends its text.
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
