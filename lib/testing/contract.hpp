#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock::testing {

/// A script of the wire contract.
struct contract_script {
    /// The purpose of the script. Scripts for one key, for several keys and for several locks have
    /// the same name if they have the same purpose.
    std::string_view name;
    std::string_view sha1;
    std::string_view text;
};

/// All scripts of the contract. Single keys: release, extend, inspect, count with a fencing
/// counter. Then: align counters, admit a node. Several keys: take, extend, release. Then: store a
/// label. The queue of waiting clients: keep a place, leave, ask for the state. Several locks:
/// release, extend. They are written out here again and not taken from the library, because this is
/// the agreed text, whatever the library sends.
inline constexpr std::array contract_scripts{
    contract_script{"release", "647c65a442733a1aa440f99908d249d13b4d6c4a",
                    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
                    "    return redis.call(\"del\",KEYS[1])\n"
                    "else\n"
                    "    return 0\n"
                    "end"},
    contract_script{"extend", "d5acb5c7c024cae8dac2c0506d98c6233f858abc",
                    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
                    "    if redis.call(\"pttl\",KEYS[1]) < tonumber(ARGV[2]) then\n"
                    "        redis.call(\"pexpire\",KEYS[1],ARGV[2])\n"
                    "    end\n"
                    "    return 1\n"
                    "else\n"
                    "    return 0\n"
                    "end"},
    contract_script{"inspect", "66bff2d4e53a99bdaabd30b9855cea2fe14bf6a8",
                    "local v = redis.call(\"get\",KEYS[1])\n"
                    "return {v and string.sub(v,1,64),redis.call(\"pttl\",KEYS[1])}"},
    contract_script{"count", "95a04dc6b76979194ec11de70b2d1f0abcb999cc",
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
                    "return counter"},
    contract_script{
        "align", "586c90f576aa5098072f303d054dc76666ebc4c9",
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
        "return value"},
    contract_script{"admit", "601dc5e21ed3a08f5e207751c8c2271ef24ed6ff",
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
                    "return m"},
    contract_script{
        "take", "cfafeca0d2c888831ff26abbbc20983ab423a5d7",
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
        "return {0,value}"},
    contract_script{"extend", "ef70db737397bf9dd198bba5f483a53539f16c46",
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
                    "return 1"},
    contract_script{"release", "f47b0024000ea2d62a7652b291439b39f5592cc3",
                    "local all = 1\n"
                    "for i = 1,#KEYS do\n"
                    "    if redis.pcall(\"get\",KEYS[i]) == ARGV[1] then\n"
                    "        redis.call(\"del\",KEYS[i])\n"
                    "    else\n"
                    "        all = 0\n"
                    "    end\n"
                    "end\n"
                    "return all"},
    contract_script{
        "label", "538f5dc457bb9d7643f4645fbea88b6027e80288",
        "local v = redis.pcall(\"getrange\",KEYS[1],0,8)\n"
        "if v == \"\" then\n"
        "    return redis.call(\"set\",KEYS[1],ARGV[1],\"px\",ARGV[2],\"nx\") and 1 or 0\n"
        "end\n"
        "if type(v) ~= \"string\" or not string.find(v,\"^%x%x%x%x%x%x%x%x $\") then\n"
        "    return 0\n"
        "end\n"
        "local left = redis.call(\"pttl\",KEYS[1])\n"
        "redis.call(\"set\",KEYS[1],ARGV[1],\"px\",math.max(ARGV[2],left))\n"
        "return 1"},
    contract_script{
        "queue", "f774068e8ba8f78da7c4d12d9dd2e1ca9e2f596c",
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
        "return {before,nearest,lock,number,removed}"},
    contract_script{"leave", "96b52ac8f95f82f7dbe143913603f0db5257fbdf",
                    "if ARGV[1] ~= \"\" then\n"
                    "    redis.call(\"zrem\",KEYS[2],ARGV[1])\n"
                    "    redis.call(\"del\",KEYS[1]..\":\"..ARGV[1]..\":redlock:ticket\")\n"
                    "end\n"
                    "return redis.call(\"zcard\",KEYS[2])"},
    contract_script{"queue_state", "8a280b044f56b2e687f92bdd66f93a0621398e08",
                    "local first = redis.call(\"zrange\",KEYS[1],0,0,\"withscores\")\n"
                    "if not first[1] then\n"
                    "    return {0,-1}\n"
                    "end\n"
                    "local time = redis.call(\"time\")\n"
                    "local age = (time[1]*1000000+time[2]-first[2])/1000\n"
                    "return {redis.call(\"zcard\",KEYS[1]),math.max(0,math.min(age,1e15))}"},
    contract_script{"release", "8e9c397693a2b8a5d54e6675299c20a273d95ab0",
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
                    "return table.concat(values)"},
    contract_script{"extend", "39c63503d42b825a76f94af87365eae243705bba",
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
                    "return table.concat(values)"},
};

/// The scripts of the contract, in the order of `contract_scripts`.
enum class contract : std::uint8_t {
    release,
    extend,
    inspect,
    count,
    align,
    admit,
    take,
    extend_all,
    release_all,
    label,
    queue,
    leave,
    queue_state,
    release_batch,
    extend_batch,  // the last one
};
static_assert(contract_scripts.size() == static_cast<std::size_t>(contract::extend_batch) + 1);

[[nodiscard]] constexpr const contract_script& script_for(contract which) noexcept
{
    return contract_scripts[static_cast<std::size_t>(which)];
}

}  // namespace redlock::testing
