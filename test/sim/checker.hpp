#pragma once

#include "sim/call.hpp"
#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "support/virtual/model_master.hpp"
#include "support/virtual/token_order.hpp"

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

/// A broken promise.
struct violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A violation that no clock, lost message or pause excuses.
struct inexcusable : violation {
    using violation::violation;
};

/// Two clients believe that they hold the same resource.
struct double_lease : violation {
    using violation::violation;
};

/// Two fencing tokens are equal or in the wrong order.
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
    /// Number of the reentrant owner. Zero: none.
    unsigned owner = 0;
};

/**
 * Follows the true state of all nodes and the beliefs of all clients, and reports each broken
 * promise. Clients don't know it.
 */
class checker {
public:
    explicit checker(world& w);

    // The health of each pair of a client and a node.
    void upset(unsigned client, unsigned node, instant until);
    void upset_node(unsigned node, instant until);
    void upset_client(unsigned client, instant until);
    /// The node is faulty until it is healed. Afterwards clients need some time to reconnect.
    void fall_ill(unsigned node);
    void heal(unsigned node);
    void upset_if_late(unsigned client, unsigned node, instant arrival);
    /// The present connection is over and the client does not know, until a new one is up.
    void deceive(unsigned client, unsigned node);
    void mend(unsigned client, unsigned node);
    /// The client begins and has no connection yet.
    void on_birth(unsigned client);
    /// The first attempt to connect has succeeded or failed.
    void on_heard(unsigned client, unsigned node);
    /// A reply to an operation arrived that the node executed at `done`. The client therefore knows
    /// that earlier faults are over.
    void on_proof(unsigned client, unsigned node, instant done);

    /// Whether a majority of the nodes is healthy and can vote for any request of the client.
    [[nodiscard]] bool can_be_served(unsigned client) const;

    /// The client has closed a connection. It must have a reason.
    void on_given_up(unsigned client, unsigned node) const;

    // Events on nodes.
    /// Notes the votes of the reply on its link.
    void on_reply(link& l, const test::words& command, std::string_view reply);
    /// The client has received and read this many more bytes.
    void on_votes(link& l, std::size_t bytes);
    void on_change(unsigned node, const std::string& key, const test::model_master::entry* before,
                   const test::model_master::entry* after, const test::session* by);

    // The restart guard of the clients that use it.
    [[nodiscard]] std::string marker_key() const;
    [[nodiscard]] std::string undated_marker_of(std::string_view run_id) const;
    [[nodiscard]] bool is_of_the_guard(std::string_view key) const;
    void on_guard_change(unsigned node, const std::string& key,
                         const test::model_master::entry* after);
    /// From now on the node's server is a new run.
    void on_restart(unsigned node);
    /// The node has lost live keys.
    void on_loss(unsigned node);

    // Beliefs of clients.
    unsigned begin_belief(unsigned client, unsigned owner, const std::string& resource,
                          std::string_view token, instant until);
    void prolong_belief(unsigned id, instant until);
    void end_belief(unsigned id);
    void end_beliefs_of(unsigned client);

    /// An acquire is about to send a SET with a new token. Soon the acquire succeeds or the key is
    /// gone.
    void on_attempt(call& c);
    /// A release is about to be sent.
    void on_release(const call& c);
    /// The client no longer wants the lock. Each node that has been healthy since then must soon
    /// have deleted the key.
    void on_given_back(unsigned client, const std::string& resource, std::string_view token,
                       instant since);

    // Results that callers get.
    void on_done(const call& c, const ending& e, instant may_last_until);

    /// The nodes that have all of these keys and keep them until then.
    [[nodiscard]] std::uint32_t holders(const std::string& resources, std::string_view token,
                                        instant until) const;
    /// Checks that all tokens of living clients are gone from all nodes.
    void nothing_left();
    /// Checks that all tokens of the client are gone from the nodes that have been healthy since
    /// then.
    void nothing_left_of(unsigned client, instant since);
    /// The client has ended. Its keys may stay until they expire.
    void orphan_tokens_of(unsigned client);
    /// No client must release this token until one adopts it. `strays`: a late SET that only the
    /// first owner knows of may still be executed, so an adopt changes nothing.
    void orphan(std::string_view token, bool strays);
    /// The client now has the token.
    void allow(std::string_view token, unsigned client);
    /// Keys may get this ttl: keys that the client sets for the resource, or keys of the token.
    void allow_ttl(unsigned client, const std::string& resource, nanos ttl);
    void allow_ttl(std::string_view token, nanos ttl);

    /// Checks the keys that should be gone and the counters that should have a ttl by now.
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
    /// Like `fail`, also when an assumption was broken.
    [[noreturn]] void condemn(const std::string& what) const;

private:
    struct token_users {
        std::uint32_t clients = 0;
        std::uint32_t set_on = 0;      ///< nodes that got its SET
        std::uint32_t granted_on = 0;  ///< of those, nodes that granted it
        std::uint32_t refused_on = 0;  ///< of those, nodes where another key was in its way
        /// Nodes where a key was in its way, and that key's value.
        std::vector<std::pair<unsigned, std::string>> in_the_way;
        std::uint32_t deleted_on = 0;  ///< nodes on which its owner deleted it
        /// For an attempt or a release: when it began, when votes come too late by the client's
        /// clock, and which nodes voted before that.
        instant asked;
        instant votes_until;
        bool is_released = false;
        std::uint32_t voted_for = 0;
        std::uint32_t voted_against = 0;
        /// Nodes whose counter the client heard of, in time or late.
        std::uint32_t heard_for = 0;
        /// Nodes that granted it and whose counter came in time, and these counters.
        std::uint32_t counted_on = 0;
        std::map<unsigned, std::int64_t> values;
        /// Nodes that were admitted when they got the key, so that their votes count.
        std::uint32_t proven_on = 0;
        instant first_set = instant::max();
        /// By node: when it got the SET.
        std::map<unsigned, instant> set_at;
        nanos longest_ttl{};
        bool had = false;  ///< a caller got a lock with this token
        bool orphaned = false;
        bool strays = false;
    };

    /// When the key of a released lock or a failed attempt must be gone from healthy nodes.
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

    /// A counter that an INCR created, after its client heard of it. `due`: when it must have a
    /// ttl.
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
    [[nodiscard]] bool was_behind_clients(const call& c) const;
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
    /// `rolled_back_since`: nodes that got lost keys back. `remains`: nodes that have any of the
    /// keys.
    [[nodiscard]] std::uint32_t rolled_back_since(instant then) const;
    [[nodiscard]] std::uint32_t remains(const std::string& resources, std::string_view token) const;
    void on_set(unsigned client, unsigned node, const std::string& token, bool is_error,
                bool was_refused, std::span<const std::string> keys);
    [[nodiscard]] bool has_met_itself_only(const call& c) const;
    [[nodiscard]] bool is_counter_ahead(const call& c) const;
    void check_unavailable(const call& c, const std::string& who) const;
    [[nodiscard]] bool has_agreed(const token_users& users) const;
    void check_expired(const call& c, const std::string& who) const;

    world& w_;
    /// The health of a client and a node for each other.
    struct acquaintance {
        instant trouble;  ///< when the last fault ends
        instant proof;    ///< when the client knew that the fault was over
    };
    std::vector<std::vector<acquaintance>> known_;
    std::vector<instant> admitted_;        ///< by node: since when; `max`: not admitted
    std::vector<instant> lost_;            ///< by node: when it last lost keys
    std::vector<instant> born_;            ///< by client
    std::vector<std::uint32_t> heard_;     ///< by client: nodes
    std::vector<std::uint32_t> deceived_;  ///< by client: nodes with half-open connections
    std::uint32_t ill_ = 0;                ///< nodes that are faulty until they are healed
    std::uint32_t were_ill_ = 0;           ///< nodes that were faulty at some time
    std::map<std::pair<unsigned, std::string>, std::vector<nanos>> ttls_;
    /// By client and resource: when the client last believed in a lock or began an attempt.
    std::map<std::pair<unsigned, std::string>, instant> led_;
    /// By resource: when one of its keys last changed.
    std::map<std::string, instant> changed_;
    std::unordered_map<std::string, token_users> tokens_;
    std::vector<belief> beliefs_;
    std::deque<given_back> given_back_;
    std::deque<begun_counter> begun_;
    test::token_order fencing_tokens_;
    unsigned ids_ = 0;
};

}  // namespace redlock::sim
