#pragma once

#include "base/instant.hpp"
#include "testing/contract.hpp"

#include <chrono>
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

/// The date at a virtual instant, in microseconds.
[[nodiscard]] constexpr std::int64_t date_of(base::instant now) noexcept
{
    constexpr std::int64_t begin = 1'700'000'000'000'000;
    return begin + now.time_since_epoch().count() / 1000;
}

/// One command as a server reads it.
using words = std::vector<std::string>;

/// Removes the first command from `bytes` and returns it, if the command is complete.
/// @throws std::runtime_error if the bytes are no command.
[[nodiscard]] std::optional<words> take_command(std::string_view& bytes);

/// Splits the bytes that a client wrote into commands.
/// @throws std::runtime_error if the bytes aren't a sequence of complete commands.
[[nodiscard]] std::vector<words> parse_commands(std::string_view bytes);

/// The state of one connection on the server.
struct session {
    int protocol = 2;
    bool authenticated = false;
    /// The mode of CLIENT TRACKING: no tracking, every key that the connection reads, or (OPTIN)
    /// the keys of the command after CLIENT CACHING YES. `tracks_next` and `tracks_now` say whether
    /// the next or the current command is that command.
    enum class tracking : std::uint8_t { off, all, chosen };
    tracking tracks = tracking::off;
    /// NOLOOP: the connection gets no push about its own changes.
    bool is_spared = false;
    bool tracks_next = false;
    bool tracks_now = false;
    /// Starts a command, even if it is only refused. CLIENT CACHING YES applies to the next command
    /// other than CLIENT. CLIENT commands in between leave it pending.
    void begin(std::string_view name)
    {
        tracks_now = name != "CLIENT" && std::exchange(tracks_next, false);
    }
    /// Pushes and replies to send, in this order.
    std::string out;
    /// The client and the number of its restarts, for a watcher of the keys.
    unsigned client = 0;
    unsigned life = 0;
};

/**
 * The part of a Redis master that locks use, in virtual time. Tests compare its answers with those
 * from a real server. You may change the switches at any moment. It knows only the scripts of the
 * contract, and all its databases are the same one.
 */
class model_master {
public:
    /// A member of a sorted set and its score.
    struct ticket {
        double number = 0;
        std::string name;
    };

    struct entry {
        std::string value;
        std::optional<base::instant> end;
        /// The value isn't a string.
        bool foreign_kind = false;
        /// The members of a sorted set in their order. Any other key has none.
        std::vector<ticket> tickets{};
    };

    /// Observes each change of a key. `after` is null if the key is gone. `by` is null if the key
    /// expired or was lost.
    struct watcher {
        virtual ~watcher() = default;
        virtual void on_change(const std::string& key, const entry* before, const entry* after,
                               const session* by) = 0;
    };

    // The kind of server.
    bool knows_hello = true;
    bool has_delifeq = false;
    bool has_delex = false;
    /// A script that reads one of its keys counts as having read all of them, as before Redis 7.2.
    bool tracks_whole_scripts = false;
    /// Hides from a connection without a login which commands exist, as Valkey does from version 9
    /// on.
    bool hides_commands = false;
    std::string mode = "standalone";
    std::string role = "master";
    std::string run_id = "0123456789abcdef0123456789abcdef01234567";
    std::string maxmemory = "0";
    std::string maxmemory_policy = "noeviction";
    /// The password, which is valid with any user name. If empty, no login is needed.
    std::string password;
    /// Lines that the server sends instead of running a command. The key is the command's name or
    /// its first two words.
    std::map<std::string, std::string, std::less<>> refusals;
    /// Has no memory left, so it refuses commands that need more.
    bool is_full = false;
    /// Hasn't loaded its data yet.
    bool is_loading = false;
    /// Acts as a replica, which refuses writes.
    bool is_read_only = false;
    /// How far its date is ahead of the other servers' dates. No ttl depends on it.
    base::nanos date_offset{};
    watcher* watched_by = nullptr;

    /// Runs one command and returns the reply. Pushes to other sessions go to their `out`. Pushes
    /// to `s` come after the reply.
    /// @throws std::exception for a command that locks don't use. Changes that the command has
    /// already made remain, and their pushes are sent.
    std::string execute(base::instant now, session& s, const words& command);
    /// Removes expired keys, as a server does from time to time, and notifies the connections that
    /// track them.
    void expire(base::instant now);
    /// Stops tracking one of the keys, as a server does that tracks too many. Connections that
    /// track the key get a push.
    void give_up_tracking(std::uint64_t which);
    /// Removes a closed connection.
    void forget(session& s);

    void put(const std::string& key, entry e) { keys_[key] = std::move(e); }
    [[nodiscard]] const entry* find(base::instant now, std::string_view key) const;
    [[nodiscard]] std::string value(base::instant now, const std::string& key) const;
    [[nodiscard]] std::size_t keys(base::instant now) const;
    /// All keys, including expired keys that no command has touched since.
    [[nodiscard]] const std::map<std::string, entry, std::less<>>& all() const { return keys_; }
    void flush_keys();
    /// Sets a key as another client would, even if the server is full. Connections that track the
    /// key get a push.
    void write(const std::string& key, entry e) { change(key, std::move(e), nullptr); }
    /// Deletes a key as another client would. Connections that track it get a push: about this key,
    /// or about all keys as after FLUSHALL.
    void lose(const std::string& key);
    void lose_among_all(const std::string& key);
    /// Removes all keys without a push, as SWAPDB with an empty database does.
    void swap_keys_away();
    void flush_scripts() { scripts_.clear(); }

    std::uint64_t sets = 0;
    std::uint64_t commands = 0;
    /// A session's `out` has a push that the session's own current command didn't cause.
    bool has_told = false;

private:
    using script = contract;

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
    std::string hset(base::instant now, session& s, const std::string& key);
    std::string type(base::instant now, const std::string& key) const;
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
    std::string release_batch(base::instant now, session& s, const words& keys, const words& args);
    std::string extend_batch(base::instant now, session& s, const words& keys, const words& args);
    template <class Write>
    std::string write_batch(base::instant now, session& s, const words& keys, const words& args,
                            Write write);
    std::string zadd(base::instant now, session& s, const words& command);
    std::string zrange(base::instant now, session& s, const words& command);
    std::string zrank(base::instant now, const session& s, const words& command) const;
    std::string zrem(base::instant now, session& s, const words& command);
    std::string zcard(base::instant now, const std::string& key) const;
    std::string keep_place(base::instant now, session& s, const words& keys, const words& args);
    std::string leave(base::instant now, session& s, const words& keys, const words& args);
    std::string queue_state(base::instant now, session& s, const std::string& queue);
    void shorten_earlier(base::instant now, session& s, const words& keys, std::size_t before);
    [[nodiscard]] double new_number(base::instant now, session& s, const std::string& queue);
    [[nodiscard]] std::span<const ticket> tickets(base::instant now, const std::string& key) const;
    [[nodiscard]] bool has_no_tickets(base::instant now, const std::string& key) const;
    void add_ticket(base::instant now, session& s, const std::string& queue, ticket t);
    bool remove_ticket(base::instant now, session& s, const std::string& queue,
                       std::string_view name);
    void put_ticket_key(base::instant now, session& s, const std::string& key,
                        const std::string& ttl_ms);
    bool set_ttl(base::instant now, session& s, const std::string& key,
                 std::chrono::milliseconds ttl);
    void come_upon(base::instant now, session& s, const std::string& key);
    void read(base::instant now, session& s, const std::string& key);
    [[nodiscard]] bool has(base::instant now, const std::string& key, std::string_view value) const;
    struct counted;
    [[nodiscard]] counted read_counters(base::instant now, session& s,
                                        std::span<const std::string> keys, std::int64_t least);
    void write_counters(base::instant now, session& s, std::span<const std::string> keys,
                        std::int64_t value, const std::string& ttl_ms);
    /// The server's TIME, in microseconds.
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
    /// The connections that have tracking turned on.
    std::vector<session*> trackers_;
    words keys_of_script_;
    /// Pushes to the connection whose command is running. They are sent after its reply.
    std::string own_pushes_;
};

}  // namespace redlock::testing
