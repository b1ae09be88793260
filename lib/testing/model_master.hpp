#pragma once

#include "base/instant.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::testing {

/// What a clock for the date shows at a virtual instant, in microseconds.
[[nodiscard]] constexpr std::int64_t date_of(base::instant now) noexcept
{
    constexpr std::int64_t begin = 1'700'000'000'000'000;
    return begin + now.time_since_epoch().count() / 1000;
}

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
    /// A command has its turn, whether it is done or answered without. Only the one behind CLIENT
    /// CACHING YES is meant by it, and those about the connection between.
    void begin(std::string_view name)
    {
        tracks_now = name != "CLIENT" && std::exchange(tracks_next, false);
    }
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
    /// A replica that takes no writes.
    bool is_read_only = false;
    /// What its clock for the date is ahead of the others', which no ttl depends on.
    base::nanos date_offset{};
    watcher* watched_by = nullptr;

    /// The reply to one command. Pushes that it causes go to the sessions' `out`, those to the one
    /// who asked behind the reply.
    /// @throws std::exception for what is no command of locks. What was done by then stays done,
    /// and whoever is to be told of it is.
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
    /// Somebody sets it, however full the server is, and those who track it are told.
    void write(const std::string& key, entry e) { change(key, std::move(e), nullptr); }
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
        release_all,
        label
    };

    std::string reply_to(base::instant now, session& s, const words& command);
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
    std::string get_range(base::instant now, session& s, const words& command);
    std::string remove(base::instant now, session& s, const words& command);
    std::string pexpire(base::instant now, session& s, const words& command);
    std::string increment(base::instant now, session& s, const std::string& key);
    std::string eval(base::instant now, session& s, const words& command);
    std::string run(base::instant now, session& s, script which, const words& command);
    std::string compare_and_delete(base::instant now, session& s, const std::string& key,
                                   const std::string& token);
    std::string count(base::instant now, session& s, const words& command);
    std::string store_label(base::instant now, session& s, const words& command);
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

}  // namespace redlock::testing
