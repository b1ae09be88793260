#pragma once

#include "base/instant.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A script as the wire contract has it.
struct contract_script {
    std::string_view sha1;
    std::string_view text;
};

/// To release, to extend, to inspect. Written out here once more, and not taken from the library: it
/// is what is agreed, whatever the library sends.
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

    /// Is told of each change of a key; `after` is null for a key that is gone, and `by` for one that
    /// expired or was lost.
    struct watcher {
        virtual ~watcher() = default;
        virtual void on_change(const std::string& key, const entry* before, const entry* after,
                               const session* by) = 0;
    };

    // What kind of server it is.
    bool knows_hello = true;
    bool has_delifeq = false;
    bool has_delex = false;
    std::string role = "master";
    std::string run_id = "0123456789abcdef0123456789abcdef01234567";
    /// Lets in whoever knows it, by any name. Empty: everybody is let in.
    std::string password;
    /// The line that a command is answered with instead of being done, by its name or its first two
    /// words.
    std::map<std::string, std::string, std::less<>> refusals;
    /// Has no memory to spare: what would take more is refused.
    bool is_full = false;
    /// Has not read its data yet.
    bool is_loading = false;
    watcher* watched_by = nullptr;

    /// The reply to one command. Pushes that it causes go to the sessions' `out`.
    std::string execute(base::instant now, session& s, const words& command);
    /// Removes what has expired, as a server does now and then, and tells those who track it.
    void expire(base::instant now);
    /// The connection is gone.
    void forget(session& s);

    void put(const std::string& key, entry e) { keys_[key] = std::move(e); }
    [[nodiscard]] const entry* find(base::instant now, std::string_view key) const;
    [[nodiscard]] std::string value(base::instant now, const std::string& key) const;
    [[nodiscard]] std::size_t keys(base::instant now) const;
    /// Those that have expired and were not touched since, too.
    [[nodiscard]] const std::map<std::string, entry, std::less<>>& all() const { return keys_; }
    void flush_keys();
    void flush_scripts() { scripts_.clear(); }

    std::uint64_t sets = 0;
    std::uint64_t commands = 0;

private:
    /// In the order of `contract_scripts`.
    enum class script : std::uint8_t { release, extend, inspect };

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
    std::string info(const session& s) const;
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
    std::string inspect(base::instant now, const session& s, const std::string& key);
    [[nodiscard]] std::int64_t pttl(base::instant now, const std::string& key) const;
    [[nodiscard]] static std::optional<script> script_of(std::string_view sha1_or_text);

    void change(const std::string& key, std::optional<entry> to, session* by);
    void track(session& s, const std::string& key);
    void invalidate(const std::string& key, session* by);
    void tell(session& s, std::string_view push, const session* by);

    std::map<std::string, entry, std::less<>> keys_;
    std::set<std::string, std::less<>> scripts_;
    std::map<std::string, std::vector<session*>, std::less<>> tracked_;
    /// Those who track anything now.
    std::vector<session*> trackers_;
    /// Pushes to the one whose command is being done: sent behind its reply.
    std::string own_pushes_;
};

}  // namespace redlock::test
