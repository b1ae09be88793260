#pragma once

#include "sim/call.hpp"
#include "sim/clock.hpp"
#include "sim/model_master.hpp"
#include "sim/network.hpp"
#include "sim/token_order.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redlock::sim {

class world;

/// Something happened that must not.
struct violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What no clock, loss or pause excuses.
struct inexcusable : violation {
    using violation::violation;
};

/// Two believe that they hold the same.
struct double_lease : violation {
    using violation::violation;
};

/// Fencing tokens are not what they are to be.
struct disorder : violation {
    using violation::violation;
};

/// A client's belief in a lease, in true time.
struct belief {
    unsigned id = 0;
    unsigned client = 0;
    std::string resource;
    std::string token;
    instant until;
    /// Of those on whose behalf the client's tasks share locks; zero: on nobody's.
    unsigned owner = 0;
};

/**
 * Knows everything, and says what must not be. It follows the true state of all nodes and all that
 * clients believe; no client knows of it.
 */
class checker {
public:
    explicit checker(world& w);

    // How well a client and a node can speak with each other.
    void upset(unsigned client, unsigned node, instant until);
    void upset_node(unsigned node, instant until);
    void upset_client(unsigned client, instant until);
    /// Until it is healed, and has had the time to be met again.
    void fall_ill(unsigned node);
    void heal(unsigned node);
    void upset_if_late(unsigned client, unsigned node, instant arrival);
    /// Until a new connection stands: the present one is over, and the client does not know.
    void deceive(unsigned client, unsigned node);
    void mend(unsigned client, unsigned node);
    /// The client begins, and has never spoken with anybody.
    void on_birth(unsigned client);
    /// The first attempt to connect has come to something.
    void on_heard(unsigned client, unsigned node);
    /// A reply has come to what the node did then for an operation: whatever was wrong before is
    /// over, and the client knows.
    void on_proof(unsigned client, unsigned node, instant done);

    /// Whether a majority of the nodes is well, and can vote for whatever the client asks.
    [[nodiscard]] bool can_be_served(unsigned client) const;

    /// The client has ended a connection, for which there has to be a reason.
    void on_given_up(unsigned client, unsigned node) const;

    // What nodes do.
    /// Notes on the link what it says.
    void on_reply(link& l, const test::words& command, std::string_view reply);
    /// So many more bytes of it have come to its client, and were read.
    void on_votes(link& l, std::size_t bytes);
    void on_change(unsigned node, const std::string& key, const test::model_master::entry* before,
                   const test::model_master::entry* after, const test::session* by);

    // The restart guard, as those clients have it that do.
    [[nodiscard]] std::string marker_key() const;
    [[nodiscard]] std::string undated_marker_of(std::string_view run_id) const;
    [[nodiscard]] bool is_of_the_guard(std::string_view key) const;
    void on_guard_change(unsigned node, const std::string& key,
                         const test::model_master::entry* after);
    /// It is another run of the node's server from now on.
    void on_restart(unsigned node);
    /// The node has lost keys that live.
    void on_loss(unsigned node);

    // What clients believe.
    unsigned begin_belief(unsigned client, unsigned owner, const std::string& resource,
                          std::string_view token, instant until);
    void prolong_belief(unsigned id, instant until);
    void end_belief(unsigned id);
    void end_beliefs_of(unsigned client);

    /// An acquire is about to ask with a new token: it holds a lock by it soon, or its key is gone.
    void on_attempt(call& c);
    /// A release is about to be sent.
    void on_release(const call& c);
    /// Nobody wants it any more: the key is to be gone soon from each node that is well, and has
    /// been since then.
    void on_given_back(unsigned client, const std::string& resource, std::string_view token,
                       instant since);

    // What clients are told.
    void on_done(const call& c, const ending& e, instant may_last_until);

    /// The nodes that have the keys, all of them, and will have them until then.
    [[nodiscard]] std::uint32_t holders(const std::string& resources, std::string_view token,
                                        instant until) const;
    /// Every token a client alive has used is gone from all nodes.
    void nothing_left();
    /// Every token that the client has used is gone from the nodes that were well for so long.
    void nothing_left_of(unsigned client, instant since);
    /// The client is no more: what it leaves behind expires.
    void orphan_tokens_of(unsigned client);
    /// Nobody has to give it back, until somebody takes it over. `strays`: not even then, as a SET
    /// of it may be executed yet that only its first owner knows of.
    void orphan(std::string_view token, bool strays);
    /// The client has been given the token.
    void allow(std::string_view token, unsigned client);
    /// Keys may be given so much: those that the client sets for the resource, those of the token.
    void allow_ttl(unsigned client, const std::string& resource, nanos ttl);
    void allow_ttl(std::string_view token, nanos ttl);

    /// Looks at what was to be gone, or done, by now.
    void look_at_what_is_due()
    {
        while (!given_back_.empty() && given_back_.front().due <= now()) {
            look_at(given_back_.front());
            given_back_.pop_front();
        }
        while (!begun_.empty() && begun_.front().due <= now()) {
            look_at(begun_.front());
            begun_.pop_front();
        }
    }

    [[noreturn]] void fail(const std::string& what) const;
    /// The same, whatever was outside of the assumptions.
    [[noreturn]] void condemn(const std::string& what) const;

private:
    struct token_users {
        std::uint32_t clients = 0;
        std::uint32_t set_on = 0;      ///< nodes that were given its SET
        std::uint32_t granted_on = 0;  ///< of those, nodes that said that they did it
        std::uint32_t refused_on = 0;  ///< of those, nodes where a key was in its way
        /// Nodes where a key was in its way, and what that key had.
        std::vector<std::pair<unsigned, std::string>> in_the_way;
        std::uint32_t deleted_on = 0;  ///< nodes on which its owner deleted it
        /// Of an attempt or a release: when it was asked for; when it is too late for nodes to say
        /// anything, by their client's clock; and who did before that.
        instant asked;
        instant votes_until;
        bool is_released = false;
        std::uint32_t voted_for = 0;
        std::uint32_t voted_against = 0;
        /// Nodes that told their counter, in time or late.
        std::uint32_t heard_for = 0;
        /// Who said in time what its counter became, of those that granted it; and what that is,
        /// by node.
        std::uint32_t counted_on = 0;
        std::map<unsigned, std::int64_t> values;
        /// Nodes that were admitted when they had it, so that it may count.
        std::uint32_t proven_on = 0;
        instant first_set = instant::max();
        nanos longest_ttl{};
        bool had = false;  ///< somebody was told of a lock by it
        bool orphaned = false;
        bool strays = false;
    };

    /// When the key of a lock, or of an attempt that came to none, is to be gone wherever nothing
    /// is wrong.
    struct given_back {
        instant due;
        instant since;
        bool unless_had = false;
        unsigned client = 0;
        std::string resource;
        std::string token;
    };
    void expect_gone(given_back g);
    void look_at(const given_back& g) const;

    /// A counter that an increment began, of which its client has heard: when it is to have a ttl.
    struct begun_counter {
        instant due;
        instant heard;
        unsigned client = 0;
        unsigned node = 0;
        std::string key;
    };
    void look_at(const begun_counter& b) const;
    static void on_counted(link& l, const test::words& command, std::string_view reply);
    void on_begun(link& l, const std::string& key) const;
    void on_counter(unsigned node, const std::string& key, const test::model_master::entry* before,
                    const test::model_master::entry* after) const;
    void check_token(const call& c, const ending& e);
    [[nodiscard]] instant now() const;
    void check_begun(const belief& b) const;
    [[nodiscard]] bool overlap(const belief& one, const belief& other) const;
    void check_exclusion(const belief& b) const;
    void check_majority(const belief& b) const;
    void check_acquire(const call& c, const ending& e, bool healthy);
    [[nodiscard]] bool was_behind_others(const call& c) const;
    void check_hold(const call& c, const error_code& ec) const;
    void check_nested_release(const call& c, const ending& e) const;
    void check_success(const call& c, const ending& e, bool at_once) const;
    void check_extend(const call& c, const error_code& ec) const;
    void check_release(const call& c, const ending& e);
    void check_loss(const call& c, const error_code& ec) const;
    void check_inspection(const call& c, const ending& e) const;
    /// The nodes that nothing has kept from answering this client since then.
    [[nodiscard]] std::uint32_t healthy_since(unsigned client, instant begun) const;
    [[nodiscard]] std::uint32_t healthy_for(const call& c) const;
    [[nodiscard]] bool is_demanding(const call& c) const;
    [[nodiscard]] bool is_well(unsigned client, unsigned node, instant since) const;
    [[nodiscard]] bool is_known_to_vote(unsigned node, instant since) const;
    [[nodiscard]] bool has_lost(const token_users& users) const;
    [[nodiscard]] unsigned nodes_that_count(const belief& b) const;
    [[nodiscard]] unsigned quorum() const;
    [[nodiscard]] std::string resource_of(const std::string& key) const;
    [[nodiscard]] std::uint32_t holders_of_one(const std::string& resource, std::string_view token,
                                               instant until) const;
    /// The nodes that have any of the keys.
    [[nodiscard]] std::uint32_t rolled_back_since(instant then) const;
    [[nodiscard]] std::uint32_t remains(const std::string& resources, std::string_view token) const;
    void on_set(unsigned client, unsigned node, const std::string& token, bool is_error,
                bool was_refused, std::span<const std::string> keys);
    [[nodiscard]] bool has_met_itself_only(const call& c) const;
    void check_unavailable(const call& c, const std::string& who) const;
    [[nodiscard]] bool has_agreed(const token_users& users) const;
    void check_expired(const call& c, const std::string& who) const;

    world& w_;
    /// Between a client and a node.
    struct acquaintance {
        instant trouble;  ///< until when
        instant proof;    ///< when it was known that there is none any more
    };
    std::vector<std::vector<acquaintance>> known_;
    std::vector<instant> admitted_;        ///< by node: since when; `max`: it is not
    std::vector<instant> lost_;            ///< by node: when it last lost keys
    std::vector<instant> born_;            ///< by client
    std::vector<std::uint32_t> heard_;     ///< by client: nodes
    std::vector<std::uint32_t> deceived_;  ///< by client: nodes with half-open connections
    std::uint32_t ill_ = 0;                ///< nodes, until they are healed
    std::uint32_t were_ill_ = 0;           ///< nodes that have been so for a while
    std::map<std::pair<unsigned, std::string>, std::vector<nanos>> ttls_;
    /// By client and resource: when it last believed in a lock, or began an attempt.
    std::map<std::pair<unsigned, std::string>, instant> led_;
    /// By resource: when a key of it changed last.
    std::map<std::string, instant> changed_;
    std::unordered_map<std::string, token_users> tokens_;
    std::vector<belief> beliefs_;
    std::deque<given_back> given_back_;
    std::deque<begun_counter> begun_;
    token_order fencing_tokens_;
    unsigned ids_ = 0;
};

}  // namespace redlock::sim
