#pragma once

#include <redlock/report.hpp>

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/node/command.hpp"
#include "core/node/context.hpp"
#include "core/node/events.hpp"
#include "core/node/fifo.hpp"
#include "core/node/guard.hpp"
#include "core/node/handshake.hpp"
#include "core/node/output.hpp"
#include "core/node/pending_releases.hpp"
#include "core/ring.hpp"
#include "core/round.hpp"
#include "resp/reader.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::resp {
struct key;
struct script_keys;
}  // namespace redlock::resp

namespace redlock::core {

/**
 * One master: the FIFO of commands without an answer, its health, its handshake, and the releases
 * it is owed.
 *
 * Replies are matched to commands by their place alone; after anything that does not fit, not a
 * byte of the connection is believed any more.
 */
class node {
public:
    enum class state : std::uint8_t {
        idle,         ///< never told to connect, or closed for good
        waiting,      ///< until the next attempt to connect
        connecting,   ///< the engine is at it
        handshaking,  ///< bytes go both ways, no votes yet
        ready,        ///< may vote
    };

    node(node_context& shared, round_events& events, unsigned index, const base::address& at);
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    // Events of the engine.
    void connect() noexcept;
    /// Takes the login that `config::credentials` gave for this attempt to connect. False: the
    /// attempt was given up.
    [[nodiscard]] bool on_credentials(const base::login& given);
    void on_tls_handshake() noexcept { awaits_tls_ = true; }
    void note_other_addresses(bool has_some) noexcept { has_other_addresses_ = has_some; }
    /// Whether a connection that was ready and fit has ended since the last call.
    [[nodiscard]] bool take_was_useful() noexcept { return std::exchange(was_useful_, false); }
    void on_connected();
    void on_bytes(std::string_view bytes);
    /// The connection, or the attempt to make one, is no more.
    void on_closed(std::string_view reason) noexcept;
    void on_time();
    /// Ends the connection: it cannot be believed, or does not answer.
    void break_off(std::string_view reason, log_level level = log_level::warning) noexcept;
    /// No further connection is made; what is left of this one is dropped.
    void stop() noexcept;

    // What rounds ask.
    [[nodiscard]] bool takes_requests() const noexcept
    {
        return state_ == state::ready && !stalled_ && has_room();
    }
    /// Why a ready node takes no requests.
    [[nodiscard]] std::string_view why_stalled() const noexcept
    {
        return stalled_ ? "has left earlier requests unanswered"
                        : "has no room for requests (max_buffered_bytes)";
    }
    [[nodiscard]] bool may_come() const noexcept
    {
        return state_ == state::connecting || state_ == state::handshaking;
    }
    [[nodiscard]] bool is_ready() const noexcept { return state_ == state::ready; }
    /// Can be asked, and may have forgotten locks: its grants do not count.
    [[nodiscard]] bool is_quarantined() const noexcept
    {
        return is_ready() && admission_.is_quarantined();
    }
    [[nodiscard]] base::nanos quarantine_left(base::instant now) const noexcept
    {
        return admission_.remaining(now);
    }
    /// A fencing counter at `value` is new, or may be of a time before the node was admitted.
    [[nodiscard]] bool is_new(std::int64_t value) const noexcept { return value < least_counter(); }
    /// Which run of which server the connection leads to, or last led to; empty if that is unknown.
    [[nodiscard]] const std::string& run_id() const noexcept { return handshake_.run_id(); }
    [[nodiscard]] const std::string& quarantine_reason() const noexcept { return suspicion_; }
    /// The last attempt to connect ended as the server refused user, password or database.
    [[nodiscard]] bool is_refused_for_good() const noexcept { return refused_for_good_; }
    /// The first attempt to connect has not ended.
    [[nodiscard]] bool is_unproven() const noexcept { return unproven_; }
    /// Whether the client has yet to learn if it can use the node: it has not tried, the server
    /// refused only for the moment, or closed the connection at the greeting with HELLO.
    [[nodiscard]] bool is_connecting() const noexcept
    {
        return unproven_ || refused_for_now_ ||
               (cut_greetings_ != 0 && cut_greetings_ < greeting_without_hello);
    }

    /// From when on the role has to be asked for again before a vote is. What is sent behind the
    /// question counts only if the node is still a master.
    [[nodiscard]] base::instant role_due() const noexcept { return role_due_; }
    void ask_role();
    /// Sends what the round asks for; a release goes by `send_release`. `same`: the words for the
    /// nodes before this one.
    void ask(round& r, encoded_row& same);
    void send_first(round& r);
    void send_rest_of_vote(round& r);
    /// The label of a lock that the client has, and its end. A node that cannot be asked, or
    /// refuses, does without.
    void set_label(const lease& l);
    void drop_label(const lease& l);
    /// Asks to be told when the key of `l`, which is waited for, goes.
    void watch(lease& l, std::string_view resource);
    /// Whether the server may tell that.
    [[nodiscard]] bool can_track() const noexcept;
    /// It should have told of a key, and has not told anything since.
    [[nodiscard]] bool is_silent() const noexcept { return is_silent_; }
    [[nodiscard]] std::string_view own_key_error(const lease& wanted) const noexcept;
    [[nodiscard]] bool note_silence(base::instant since) noexcept;
    /// What it is called, as `rank` wants to know it.
    [[nodiscard]] std::uint64_t name() const noexcept { return name_; }
    /// For somebody who waits, now or when the node is back; or what can be said of the node
    /// without asking.
    std::optional<node_outcome> send_release(round& r, encoded_row& same);
    /// For nobody, now or when the node is back.
    void give_back(lease& l, encoded_row& same) noexcept;

    /// A round has ended without the node's answer: nothing new is sent until that has caught up,
    /// unless it was asked so late that it need not have answered yet.
    void mark_stalled() noexcept { stalled_ = !has_caught_up(); }

    [[nodiscard]] base::instant wake_up() const noexcept { return wake_up_; }
    [[nodiscard]] output& out() noexcept { return out_; }
    [[nodiscard]] const output& out() const noexcept { return out_; }
    [[nodiscard]] const std::string& display() const noexcept { return address_.display; }
    /// Why there is no connection; empty while there is one.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
    [[nodiscard]] std::size_t unanswered() const noexcept { return fifo_.size(); }
    [[nodiscard]] std::size_t pending_releases() const noexcept
    {
        return pending_.size() + unrepaired_.size();
    }
    /// Releases that have no answer, and those still to be sent for the first time.
    [[nodiscard]] std::size_t releases_going_out() const noexcept
    {
        return releases_unanswered_ + pending_.unsent();
    }

private:
    /// A connection that the other end closes after so long, while nothing is asked, was well: no
    /// server ends idle ones before a second has passed.
    static constexpr base::nanos well_while_idle = std::chrono::milliseconds{500};
    /// Between releases of a key that might still come to life: what is under way comes soon or
    /// hardly ever.
    static constexpr base::nanos first_pause = std::chrono::seconds{1};
    static constexpr base::nanos longest_pause = std::chrono::seconds{64};
    /// A server, or what stands in front of it, that ends so many connections when asked to tell of
    /// keys is not asked again for so long.
    static constexpr unsigned most_lost_watches = 3;
    static constexpr base::nanos pause_of_watches = std::chrono::minutes{10};
    /// It is asked to tell of keys for so long, and as long as it then takes to find that nobody
    /// waits for one. Longer than from one look to the next.
    static constexpr base::nanos watched_at_least = std::chrono::seconds{2};
    /// No vote rests on a role that was asked for longer ago.
    static constexpr base::nanos role_known_for = std::chrono::seconds{1};

    // Sending.
    [[nodiscard]] bool has_room() const noexcept;
    [[nodiscard]] bool has_caught_up() const noexcept;
    struct command_traits;
    [[nodiscard]] static inline const command_traits& traits_of(command what) noexcept;
    template <class Append>
    inline void write(const command_row& row, Append append);
    inline void expect(const command_row& row, command_subject subject, form sent_as) noexcept;
    /// Sends commands together, with scripts in the form that the connection takes, or in this one.
    /// `same`: copies the words of another node if they are the same, and keeps these.
    void send(const command_row& row, command_subject subject);
    inline void send(const command_row& row, command_subject subject, form f,
                     encoded_row* same = nullptr);
    void append(const command_row& row, command_subject subject, form f);
    void expect_handshake(unsigned replies);
    [[nodiscard]] static command_subject subject_of(const pending& p) noexcept;
    void let_go(const pending& p) noexcept;
    [[nodiscard]] inline command_row row_for(const round& r) const;
    [[nodiscard]] command command_to_count(const round& r) const noexcept;
    [[nodiscard]] resp::key key_of(std::string_view resource,
                                   std::string_view suffix = {}) const noexcept;
    [[nodiscard]] resp::script_keys keys_of(const lease& l,
                                            std::string_view suffix = {}) const noexcept;
    void append_set(const pending& p);
    void append_take(const pending& p);
    void append_marker(const pending& p);
    void append_holder_ttl(const pending& p);
    void append_holder_label(const pending& p);
    void append_set_label(const lease& l, std::string_view resource, form f);
    void append_drop_label(const lease& l, std::string_view resource, form f);
    void append_increment(const pending& p);
    void append_count(const pending& p);
    void append_repair(const pending& p);
    void append_count_of(const lease& l, std::int64_t seed, form f);
    void append_align(const pending& p);
    void append_extend(const pending& p);
    void append_release(const pending& p);
    void append_compare_and_delete(const resp::key& k, std::string_view value, form f);
    void append_inspect(const pending& p);
    void append_admission(const pending& p);
    void append_start_tracking(const pending& p);
    void append_end_tracking(const pending& p);
    void append_caching(const pending& p);
    void append_role(const pending& p);
    void append_ping(const pending& p);
    [[nodiscard]] std::int64_t seed_of(const round& r) const noexcept;
    [[nodiscard]] form script_form() const noexcept;
    [[nodiscard]] form release_form(const lease& l) const noexcept;

    // Reports.
    void vote(round& r, node_outcome outcome, std::string_view error = {}) noexcept
    {
        events_.on_vote(r, index_, outcome, error);
    }
    void tell_counter(round& r, counter_answer::kind what, std::int64_t value,
                      std::string_view why = {})
    {
        events_.on_counter(r, index_, {what, value, why});
    }

    // Replies. False: the connection was broken off.
    bool on_reply(const resp::reply& r);
    bool dispatch(const pending& p, const resp::reply& r);
    bool on_set(const pending& p, const resp::reply& r);
    bool on_take(const pending& p, const resp::reply& r);
    void on_group_held(const pending& p, unsigned held, std::int64_t ttl_ms);
    void note_holder_ttl(round& asked, std::int64_t ttl_ms);
    bool on_holder_ttl(const pending& p, const resp::reply& r);
    bool on_holder_label(const pending& p, const resp::reply& r);
    void note_grant(round& asked);
    void record_refusal(round& asked) noexcept;
    bool on_counter(round& asked, std::int64_t value);
    void on_counter_gone(round& asked);
    [[nodiscard]] bool may_count(const round& asked) const noexcept;
    bool on_increment(const pending& p, const resp::reply& r);
    bool on_count(const pending& p, const resp::reply& r);
    bool on_own_counter(round& asked, const resp::reply& r);
    bool on_repair(const pending& p, const resp::reply& r);
    bool on_align(const pending& p, const resp::reply& r);
    bool on_extend(const pending& p, const resp::reply& r);
    bool on_release(const pending& p, const resp::reply& r);
    bool on_inspect(const pending& p, const resp::reply& r);
    bool on_role(const pending& p, const resp::reply& r);
    bool on_handshake(const pending& p, const resp::reply& r);
    bool on_nonsense(const pending& p);

    // Keys that are waited for.
    void add_tracking(command_row& row) const;
    void note_watching() noexcept;
    void end_tracking_if_idle();
    void on_caching_lost(const pending& p) noexcept;
    bool on_tracking(const pending& p, const resp::reply& r);
    bool on_watch(const pending& p, const resp::reply& r);
    void on_push(const resp::reply& r) noexcept;

    // The restart guard.
    bool is_of_others();
    void begin_admission(bool is_first);
    void pursue_admission();
    void cannot_be_admitted(std::string why);
    void on_pending_left();
    bool on_granted(round& asked);
    void cast_vote(round& asked);
    void send_ping();
    bool on_ping(const pending& p, const resp::reply& r);
    bool on_marker(const pending& p, const resp::reply& r);
    bool on_admission(const pending& p, const resp::reply& r);
    bool believe(marker_says says, const resp::reply& marker);
    void be_admitted() noexcept;
    void suspect(std::string_view reason) noexcept;
    [[nodiscard]] bool has_to_prove(const lease& l) const noexcept;
    [[nodiscard]] std::int64_t least_counter() const noexcept;

    /// What may be shown of an error.
    [[nodiscard]] std::string error_of(const resp::reply& r) const;
    /// The same of a command that reads or writes a fencing counter: names the counter's key if the
    /// error is about its value.
    [[nodiscard]] std::string counter_error(const lease& l, const resp::reply& r) const;
    /// A fencing counter in a text.
    [[nodiscard]] std::string counter_text(const lease& l) const;
    /// A key in a text: printable, and cut if it is very long.
    [[nodiscard]] std::string key_text(std::string_view resource, std::string_view suffix) const;
    /// How a scripted command was answered. `again` and `no_room`: not executed, and to be sent in
    /// another form, for which there is room or not.
    enum class scripted : std::uint8_t { yes, no, again, no_room, error, nonsense };
    scripted judge(const pending& p, const resp::reply& r) noexcept;
    bool note_refused_form(const pending& p, const resp::reply& r) noexcept;
    bool on_set_label(const pending& p, const resp::reply& r);
    bool on_drop_label(const pending& p, const resp::reply& r);
    bool send_again(const pending& p);
    bool ask_again(const pending& p, base::nanos ttl);
    void settle(const pending& p, node_outcome outcome, std::string_view error);

    // The connection's life.
    void become_ready();
    enum class ended_by : std::uint8_t { peer, us };
    void forget_connection(std::string_view reason, log_level level, ended_by whom) noexcept;
    [[nodiscard]] std::string hint_of_cut(std::string_view reason) const;
    [[nodiscard]] std::string_view hint_of_nonsense() const noexcept;
    void complain(std::string_view reason, log_level level) noexcept;
    void forget_command(const pending& p) noexcept;
    void on_vote_lost(const pending& p) noexcept;
    void on_increment_lost(const pending& p) noexcept;
    void on_repair_lost(const pending& p) noexcept;
    void on_align_lost(const pending& p) noexcept;
    void on_release_lost(const pending& p) noexcept;
    void schedule_reconnect(bool lived_well, bool at_once) noexcept;
    void check_health();
    void note_run();
    [[nodiscard]] const std::string* name_of_twin() const noexcept;
    [[nodiscard]] bool is_cut_at_hello() const noexcept;
    void give_up_as(std::string_view unfit) noexcept;
    void note_fitness() noexcept;

    // What is owed.
    [[nodiscard]] bool add_pending(const pending_release& what) noexcept;
    [[nodiscard]] bool release_later(lease& l, round* answers, bool sent_before) noexcept;
    void release_instead_of(const pending& p, bool sent_before) noexcept;
    void release_again(lease& l, const pending_release* last, bool failed) noexcept;
    void send_pending_releases(bool all);
    void drop_release(pending_release& d) noexcept;
    void report_dropped(round* waits, base::instant end, bool sent_before) noexcept;
    void forget_release(pending_release& d) noexcept;
    void drop_expired_releases() noexcept;
    void repair_later(lease& l) noexcept;
    void send_repairs();
    [[nodiscard]] bool may_be_set_yet(const lease& l) const noexcept;
    [[nodiscard]] bool may_have_key(const lease& l) const noexcept;
    [[nodiscard]] base::instant end_of_key(const lease& l) const noexcept;
    [[nodiscard]] base::instant end_of_key_from_now(const lease& l) const noexcept;

    node_context& context_;
    round_events& events_;
    const base::address& address_;
    const unsigned index_;
    state state_ = state::idle;
    bool stalled_ = false;
    bool unproven_ = true;
    bool refused_for_good_ = false;
    bool refused_for_now_ = false;
    /// The attempt to connect waits for `on_credentials`.
    bool awaits_credentials_ = false;
    bool awaits_tls_ = false;
    handshake handshake_;
    admission admission_;
    /// Why it is in quarantine.
    std::string suspicion_;
    resp::reader reader_;
    fifo<pending> fifo_;
    core::pending_release_queue pending_;
    /// Of resources whose counter a lost connection may have begun without a ttl. Counted.
    ring<lease*> unrepaired_;
    /// The last one has failed: from when on one more is tried.
    base::instant repairs_due_{};
    /// Releases are answered with errors: what is owed waits until then, and is tried one by one
    /// from then on.
    base::instant ailing_until_{};
    std::size_t releases_unanswered_ = 0;
    output out_;
    static constexpr const char* never_connected = "no connection yet";
    std::string trouble_ = never_connected;
    /// The last error of a release on this connection.
    std::string release_error_;
    base::instant wake_up_ = base::instant::max();
    base::instant ready_since_{};
    base::instant last_reply_{};
    base::nanos back_off_{};
    base::instant role_due_ = base::instant::max();
    /// When to see whether anybody waits for a key that it is to tell of.
    base::instant watchers_looked_for_ = base::instant::max();
    /// How many connections in a row were closed before HELLO was answered, or in a greeting
    /// without HELLO.
    unsigned cut_greetings_ = 0;
    /// Addresses that the client tried without a wait since the last back-off.
    unsigned other_addresses_tried_ = 0;
    /// After two greetings that were cut, the third is without HELLO, and so on.
    static constexpr unsigned greeting_without_hello = 3;
    /// The run that the last usable connection led to.
    std::string known_run_;
    /// Why the last connection was given up, if an answer on it said that the node is unfit; until
    /// the node has granted something.
    std::string_view unfit_;
    /// The node has its own compare-and-delete, but does not let us use it.
    bool native_refused_ = false;
    /// This connection refused a script by its digest, so scripts go out as text.
    bool digest_refused_ = false;
    /// The name has further addresses, if this connection does not get ready.
    bool has_other_addresses_ = false;
    /// The last connection was ready, and its server fit.
    bool was_useful_ = false;
    /// This connection refused INCR outside of scripts, so the count script increments.
    bool increment_refused_ = false;
    /// The log says that the node needs no login.
    bool logged_unused_login_ = false;
    /// That this connection has lost a counter is in the log.
    bool missed_a_counter_ = false;
    /// That one of them stays without a ttl is in the log.
    bool missed_a_mend_ = false;
    /// It has run the script on this connection, so the digest will do.
    bool knows_label_script_ = false;
    /// A trouble is in the log whose end has not been told.
    bool complained_ = false;
    /// Whether the server tells of keys on this connection, as far as it was asked to.
    enum class tracks : std::uint8_t { off, on, refused };
    tracks tracking_ = tracks::off;
    /// The last CLIENT TRACKING of this connection succeeded.
    bool accepts_tracking_ = false;
    /// That it refused to is in the log.
    bool missed_tracking_ = false;
    /// The last connection was lost before it had answered what it was asked to tell of.
    bool has_lost_watch_ = false;
    /// Whether it has missed to tell something unasked since it last did, at `told_at_`; that it
    /// ever did is in the log.
    bool is_silent_ = false;
    bool missed_word_ = false;
    base::instant told_at_ = base::instant::min();
    /// So many in a row were, and from when on it is asked again after too many of them.
    unsigned lost_watches_ = 0;
    base::instant watches_again_{};
    const std::uint64_t name_;
};

using node_list = std::vector<std::unique_ptr<node>>;

}  // namespace redlock::core
