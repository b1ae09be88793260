#pragma once

#include "base/instant.hpp"
#include "base/wall_clock.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A script as the wire contract has it.
struct contract_script {
    std::string_view sha1;
    std::string_view text;
};

/// To release, to extend, to inspect, to count with a fencing counter and to raise some, to admit a
/// node, and to take, extend and release several keys. Written out here once more, and not taken
/// from the library: it is what is agreed, whatever the library sends.
inline constexpr std::array contract_scripts{
    contract_script{"647c65a442733a1aa440f99908d249d13b4d6c4a",
                    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
                    "    return redis.call(\"del\",KEYS[1])\n"
                    "else\n"
                    "    return 0\n"
                    "end"},
    contract_script{"d5acb5c7c024cae8dac2c0506d98c6233f858abc",
                    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n"
                    "    if redis.call(\"pttl\",KEYS[1]) < tonumber(ARGV[2]) then\n"
                    "        redis.call(\"pexpire\",KEYS[1],ARGV[2])\n"
                    "    end\n"
                    "    return 1\n"
                    "else\n"
                    "    return 0\n"
                    "end"},
    contract_script{"66bff2d4e53a99bdaabd30b9855cea2fe14bf6a8",
                    "local v = redis.call(\"get\",KEYS[1])\n"
                    "return {v and string.sub(v,1,64),redis.call(\"pttl\",KEYS[1])}"},
    contract_script{"95a04dc6b76979194ec11de70b2d1f0abcb999cc",
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
        "586c90f576aa5098072f303d054dc76666ebc4c9",
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
    contract_script{"601dc5e21ed3a08f5e207751c8c2271ef24ed6ff",
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
        "cfafeca0d2c888831ff26abbbc20983ab423a5d7",
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
    contract_script{"69f9020bf5bd0c592753e194f5eeca95caf01a22",
                    "for i = 1,#KEYS do\n"
                    "    if redis.pcall(\"get\",KEYS[i]) ~= ARGV[1] then\n"
                    "        return 0\n"
                    "    end\n"
                    "end\n"
                    "for i = 1,#KEYS do\n"
                    "    if redis.call(\"pttl\",KEYS[i]) < tonumber(ARGV[2]) then\n"
                    "        redis.call(\"pexpire\",KEYS[i],ARGV[2])\n"
                    "    end\n"
                    "end\n"
                    "return 1"},
    contract_script{"f47b0024000ea2d62a7652b291439b39f5592cc3",
                    "local all = 1\n"
                    "for i = 1,#KEYS do\n"
                    "    if redis.pcall(\"get\",KEYS[i]) == ARGV[1] then\n"
                    "        redis.call(\"del\",KEYS[i])\n"
                    "    else\n"
                    "        all = 0\n"
                    "    end\n"
                    "end\n"
                    "return all"},
};

/// What a clock for the date shows at a virtual instant, in microseconds.
[[nodiscard]] constexpr std::int64_t date_of(base::instant now) noexcept
{
    constexpr std::int64_t begin = 1'700'000'000'000'000;
    return begin + now.time_since_epoch().count() / 1000;
}

/// A clock for the date under virtual time, as wrong as it is told to be.
class virtual_date final : public base::wall_clock {
public:
    explicit virtual_date(const base::instant& now) : now_(now) {}
    [[nodiscard]] std::int64_t microseconds() noexcept override { return date_of(now_ + offset); }

    base::nanos offset{};

private:
    const base::instant& now_;
};

/// One command, as a server reads it.
using words = std::vector<std::string>;

/// Takes a command off the front of what a client wrote, if a whole one is there.
/// @throws std::runtime_error for what is no command.
[[nodiscard]] std::optional<words> take_command(std::string_view& bytes);

/// Cuts what was written to a node into commands.
/// @throws std::runtime_error for what is no row of whole commands.
[[nodiscard]] std::vector<words> parse_commands(std::string_view bytes);

/// What a server knows of one connection.
struct session {
    int protocol = 2;
    bool authenticated = false;
    /// CLIENT TRACKING: of nothing, of all that is read, or with OPTIN of what is chosen by CLIENT
    /// CACHING YES for the next command, or this one.
    enum class tracking : std::uint8_t { off, all, chosen };
    tracking tracks = tracking::off;
    /// What this connection changes itself it is not told.
    bool is_spared = false;
    bool tracks_next = false;
    bool tracks_now = false;
    /// Pushes and replies to be sent, in this order.
    std::string out;
    /// For whoever watches the keys: which client this is, and in which of its lives.
    unsigned client = 0;
    unsigned life = 0;
};

/**
 * A Redis master as far as locks use one, in virtual time; its answers are compared with those of
 * a real one. The switches may be turned at any moment. The only scripts it knows are the
 * contract's, and its databases are all the same one.
 */
class model_master {
public:
    struct entry {
        std::string value;
        std::optional<base::instant> end;
        bool foreign_kind = false;
    };

    /// Is told of each change of a key; `after` is null for a key that is gone, and `by` for one
    /// that expired or was lost.
    struct watcher {
        virtual ~watcher() = default;
        virtual void on_change(const std::string& key, const entry* before, const entry* after,
                               const session* by) = 0;
    };

    // What kind of server it is.
    bool knows_hello = true;
    bool has_delifeq = false;
    bool has_delex = false;
    /// To whom a script reads one of its keys, it has read all of them: so before Redis 7.2.
    bool tracks_whole_scripts = false;
    /// Of a stranger's commands it does not say which it has: so from Valkey 9 on.
    bool hides_commands = false;
    std::string mode = "standalone";
    std::string role = "master";
    std::string run_id = "0123456789abcdef0123456789abcdef01234567";
    std::string maxmemory = "0";
    std::string maxmemory_policy = "noeviction";
    /// Lets in whoever knows it, by any name. Empty: everybody is let in.
    std::string password;
    /// The line that a command is answered with instead of being done, by its name or its first two
    /// words.
    std::map<std::string, std::string, std::less<>> refusals;
    /// Has no memory to spare: what would take more is refused.
    bool is_full = false;
    /// Has not read its data yet.
    bool is_loading = false;
    /// What its clock for the date is ahead of the others', which no ttl depends on.
    base::nanos date_offset{};
    watcher* watched_by = nullptr;

    /// The reply to one command. Pushes that it causes go to the sessions' `out`.
    std::string execute(base::instant now, session& s, const words& command);
    /// Removes what has expired, as a server does now and then, and tells those who track it.
    void expire(base::instant now);
    /// As a server does that tracks too many: those who track one of the keys are told of it, and
    /// it is tracked no more.
    void give_up_tracking(std::uint64_t which);
    /// The connection is gone.
    void forget(session& s);

    void put(const std::string& key, entry e) { keys_[key] = std::move(e); }
    [[nodiscard]] const entry* find(base::instant now, std::string_view key) const;
    [[nodiscard]] std::string value(base::instant now, const std::string& key) const;
    [[nodiscard]] std::size_t keys(base::instant now) const;
    /// Those that have expired and were not touched since, too.
    [[nodiscard]] const std::map<std::string, entry, std::less<>>& all() const { return keys_; }
    void flush_keys();
    /// Somebody deletes it, and those who track it are told: of it, or as by FLUSHALL of all keys.
    void lose(const std::string& key);
    void lose_among_all(const std::string& key);
    /// As SWAPDB with an empty database does, which no client is told of.
    void swap_keys_away();
    void flush_scripts() { scripts_.clear(); }

    std::uint64_t sets = 0;
    std::uint64_t commands = 0;
    /// Somebody's `out` has a push that he has not asked for with the command being done.
    bool has_told = false;

private:
    /// In the order of `contract_scripts`.
    enum class script : std::uint8_t {
        release,
        extend,
        inspect,
        count,
        raise,
        admit,
        take,
        extend_all,
        release_all
    };

    [[nodiscard]] bool has(std::string_view name) const;
    std::optional<std::string> refusal(const words& command, const session& s) const;
    [[nodiscard]] std::string unknown(const words& command) const;
    std::string hello(session& s, const words& command);
    std::optional<std::string> hello_options(session& s, const words& command) const;
    [[nodiscard]] std::string greeting(const session& s) const;
    std::string auth(session& s, const words& command);
    std::string client(session& s, const words& command);
    std::string client_tracking(session& s, const words& command);
    static std::string client_caching(session& s, const words& command);
    std::string script_command(const words& command);
    std::string info(const session& s, const words& command) const;
    [[nodiscard]] std::string command_info(const session& s, const words& command) const;
    std::string flush_all(const session& s);
    std::string keyed(base::instant now, session& s, const words& command);
    std::string set(base::instant now, session& s, const words& command);
    std::string get(base::instant now, const session& s, const std::string& key);
    std::string remove(base::instant now, session& s, const words& command);
    std::string pexpire(base::instant now, session& s, const words& command);
    std::string increment(base::instant now, session& s, const std::string& key);
    std::string eval(base::instant now, session& s, const words& command);
    std::string run(base::instant now, session& s, script which, const words& command);
    std::string compare_and_delete(base::instant now, session& s, const std::string& key,
                                   const std::string& token);
    std::string count(base::instant now, session& s, const words& command);
    std::string raise(base::instant now, session& s, const words& keys, const words& args);
    std::string take(base::instant now, session& s, const words& keys, const words& args);
    std::string extend_all(base::instant now, session& s, const words& keys, const words& args);
    std::string release_all(base::instant now, session& s, const words& keys, const words& args);
    void come_upon(base::instant now, session& s, const std::string& key);
    void read(base::instant now, session& s, const std::string& key);
    [[nodiscard]] bool has(base::instant now, const std::string& key, std::string_view value) const;
    struct counted;
    [[nodiscard]] counted read_counters(base::instant now, session& s,
                                        std::span<const std::string> keys, std::int64_t least);
    void write_counters(base::instant now, session& s, std::span<const std::string> keys,
                        std::int64_t value, const std::string& ttl_ms);
    /// TIME, in microseconds.
    [[nodiscard]] std::int64_t date(base::instant now) const { return date_of(now + date_offset); }
    std::string inspect(base::instant now, const session& s, const std::string& key);
    std::string admit(base::instant now, session& s, const words& command);
    [[nodiscard]] std::int64_t pttl(base::instant now, const std::string& key) const;
    [[nodiscard]] static std::optional<script> script_of(std::string_view sha1_or_text);

    void change(const std::string& key, std::optional<entry> to, session* by, session* during);
    void change(const std::string& key, std::optional<entry> to, session* by);
    void track(session& s, const std::string& key);
    void invalidate(const std::string& key, session* by);
    void tell_of_all(const session* by);
    void tell(session& s, std::string_view push, const session* by);

    std::map<std::string, entry, std::less<>> keys_;
    std::set<std::string, std::less<>> scripts_;
    std::map<std::string, std::vector<session*>, std::less<>> tracked_;
    /// Those who track anything now.
    std::vector<session*> trackers_;
    words keys_of_script_;
    /// Pushes to the one whose command is being done: sent behind its reply.
    std::string own_pushes_;
};

}  // namespace redlock::test
