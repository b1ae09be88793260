#include "support/bad_network.hpp"
#include "support/locks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

constexpr auto ttl = 60s;

/// The answers that the tests cut, byte for byte. The answer to PTTL always has five digits with
/// this `ttl`, and a counter has sixteen, as a date in microseconds.
constexpr std::string_view ok = "+OK\r\n";
constexpr std::string_view one = ":1\r\n";
constexpr std::string_view counter = ":1700000000000000\r\n";
constexpr std::string_view remaining = ":60000\r\n";
constexpr std::string_view null2 = "$-1\r\n";
constexpr std::string_view null3 = "_\r\n";

/// How a connection ends: with FIN, with RST, or with FIN from the server's side alone.
enum class manner { fin, rst, half };

/// Connections that end after a given number of bytes of an answer.
struct cut {
    std::vector<std::size_t> victims;
    std::size_t bytes;
    manner how;
};

/// How many nodes there are, and how many of them are cut at once.
struct extent {
    std::size_t nodes;
    std::size_t victims;
};

extent each_extent()
{
    return GENERATE(extent{3, 1}, extent{3, 2}, extent{5, 2});
}

/// True also if there is no report.
bool none_is(const report& told, const std::vector<std::size_t>& victims, node_outcome what)
{
    return told.nodes.empty() || std::none_of(victims.begin(), victims.end(), [&](std::size_t i) {
               return told.nodes.at(i).outcome == what;
           });
}

/// Nodes whose answers are cut on the way to a client.
class scene {
public:
    explicit scene(const extent& e, const server_options& options = {})
        : extent_(e),
          net_(e.nodes, options)
    {}

    [[nodiscard]] masters& nodes() { return net_.nodes; }

    /// The client of this cut. Each cut has its own client, because a client repeats the pending
    /// release of a lost answer later and so would disturb the next cut.
    [[nodiscard]] locks& client() { return *client_; }

    /// Calls `play` for each node and its neighbours as victims, for each place from 0 to `bytes`
    /// inclusive, and for each manner. No key of the lock may exist afterwards.
    template <class Play>
    void each_cut(std::size_t bytes, const Play& play)
    {
        for (std::size_t first = 0; first < extent_.nodes; ++first) {
            std::vector<std::size_t> victims;
            for (std::size_t i = 0; i < extent_.victims; ++i) {
                victims.push_back((first + i) % extent_.nodes);
            }
            for (std::size_t at = 0; at <= bytes; ++at) {
                for (const auto how : {manner::fin, manner::rst, manner::half}) {
                    CAPTURE(extent_.nodes, victims, at, static_cast<int>(how));
                    play_once({victims, at, how}, play);
                }
            }
        }
    }

    /// Takes a lock that every node grants.
    lock take()
    {
        lock held = client_->take("r", {.ttl = ttl});
        REQUIRE(client_->await_quiet());
        REQUIRE(held.granted_by() == extent_.nodes);
        return held;
    }

    void arm(const cut& c)
    {
        for (const auto i : c.victims) {
            if (c.how == manner::half) {
                net_.paths[i]->stop_after(direction::down, c.bytes, true);
            } else {
                const auto how = c.how == manner::fin ? ending::fin : ending::rst;
                net_.paths[i]->cut_after(direction::down, c.bytes, how);
            }
        }
    }

    /// Waits until the connections are lost, and lets the client make all of them again.
    void mend()
    {
        REQUIRE(client_->await([this] { return client_->stats().disconnects >= extent_.victims; }));
        mend_paths();
        REQUIRE(client_->await_ready(extent_.nodes));
    }

    /// Whether `play` took so long that the client may have asked for the nodes' roles first. In
    /// that case the proxy cut another answer, and the cut is played again.
    [[nodiscard]] bool may_have_asked_role()
    {
        asked_role_ = std::chrono::steady_clock::now() - begun_ >= 1s;
        return asked_role_;
    }

    /// Whether a majority answers although the answer of `size` bytes is cut.
    [[nodiscard]] bool is_decided(const cut& c, std::size_t size) const
    {
        return c.bytes >= size || c.victims.size() <= extent_.nodes / 2;
    }

    /// How many nodes answer.
    [[nodiscard]] std::size_t answers(const cut& c, std::size_t size) const
    {
        return c.bytes >= size ? extent_.nodes : extent_.nodes - c.victims.size();
    }

private:
    template <class Play>
    void play_once(const cut& c, const Play& play)
    {
        do {
            auto quick = patient(net_.urls());
            quick.reconnect_backoff_min = quick.reconnect_backoff_max = 1ms;
            begun_ = std::chrono::steady_clock::now();
            client_.emplace(std::move(quick));
            REQUIRE(client_->await_ready(extent_.nodes));
            asked_role_ = false;
            play(c);
            mend_paths();
            REQUIRE(client_->await([this] { return net_.nodes.count("r") == 0; }));
        } while (asked_role_);
    }

    void mend_paths()
    {
        for (const auto& path : net_.paths) {
            path->cut_never();
        }
    }

    const extent extent_;
    bad_network net_;
    std::optional<locks> client_;
    std::chrono::steady_clock::time_point begun_;
    bool asked_role_ = false;
};

}  // namespace

TEST_CASE("p21: a node whose answer to a SET is cut anywhere gives no grant",
          "[servers][pitfall][p21]")
{
    // With a report the client asks for PTTL after the SET. For a fencing token it asks for a
    // counter, and SET and counter together make the vote.
    const auto [reports, fencing] =
        GENERATE(table<bool, bool>({{false, false}, {true, false}, {false, true}}));
    scene s(each_extent());
    const std::size_t vote = ok.size() + (fencing ? counter.size() : 0);
    s.each_cut(vote + (reports ? remaining.size() : 0), [&](const cut& c) {
        s.arm(c);
        report told;
        auto got = s.client().acquire("r", {.ttl = ttl,
                                            .timeout = 0s,
                                            .max_attempts = 1,
                                            .fencing = fencing,
                                            .report = reports ? &told : nullptr});
        if (s.may_have_asked_role()) {
            return;
        }
        CHECK(got.error ==
              (s.is_decided(c, vote) ? error_code() : make_error_code(errc::unavailable)));
        REQUIRE(s.client().await_quiet());
        if (got.lock) {
            CHECK(got.lock.granted_by() == s.answers(c, ok.size()));
            CHECK((got.lock.fencing_token() != 0) == fencing);
        }
        CHECK((c.bytes >= vote || none_is(told, c.victims, node_outcome::granted)));
        s.mend();
        if (got.lock) {
            s.client().give_back(std::move(got.lock));
        }
    });
}

TEST_CASE("p21: a node whose refusal of a SET is cut anywhere does not count as refusing",
          "[servers][pitfall][p21]")
{
    // The client speaks RESP2 to servers that do not know HELLO.
    const bool resp2 = GENERATE(false, true);
    server_options options;
    if (resp2) {
        options.arguments = {"--rename-command", "HELLO", ""};
    }
    scene s(each_extent(), options);
    for (std::size_t i = 0; i < s.nodes().size(); ++i) {
        REQUIRE(s.nodes()[i].command({"SET", "taken", "by another"}) == "OK");
    }
    const auto size = (resp2 ? null2 : null3).size();
    s.each_cut(size, [&](const cut& c) {
        s.arm(c);
        report told;
        const auto error = s.client().acquire("taken", once(&told)).error;
        if (s.may_have_asked_role()) {
            return;
        }
        CHECK(error == condition::not_acquired);
        CHECK((c.bytes >= size || none_is(told, c.victims, node_outcome::refused)));
        s.mend();
    });
    CHECK(s.nodes().count("taken") == s.nodes().size());
}

TEST_CASE("p21: a node whose answer to an extend is cut anywhere gives no vote",
          "[servers][pitfall][p21]")
{
    scene s(each_extent());
    s.each_cut(one.size(), [&](const cut& c) {
        lock held = s.take();
        const auto before = held.valid_until();
        s.arm(c);
        const auto error = s.client().extend(held, 2 * ttl);
        if (s.may_have_asked_role()) {
            return;
        }
        if (s.is_decided(c, one.size())) {
            CHECK_FALSE(error);
            CHECK(held.valid_until() > before);
        } else {
            CHECK(error == errc::unavailable);
            CHECK(held.valid_until() == before);
        }
        s.mend();
        s.client().give_back(std::move(held));
    });
}

TEST_CASE("p21, p35: a release whose answers are cut anywhere still succeeds after a reconnect",
          "[servers][pitfall][p21][p35]")
{
    scene s(each_extent());
    s.each_cut(one.size(), [&](const cut& c) {
        lock held = s.take();
        s.arm(c);
        const auto begun = s.client().begin_release(std::move(held));
        s.mend();
        const auto given_back = s.client().finish(begun);
        CHECK_FALSE(given_back.error);
        CHECK(given_back.result == release_result::released);
    });
}

TEST_CASE("p21: a client drops a connection on which an answer stops in the middle",
          "[servers][pitfall][p21]")
{
    const auto victims = GENERATE(std::size_t{1}, std::size_t{2});
    const auto bytes = GENERATE(std::size_t{0}, std::size_t{2});
    bad_network net(3);
    locks mine(brisk(net.urls()));
    REQUIRE(mine.await_ready(3));
    const auto stop = [&] {
        for (std::size_t i = 0; i < victims; ++i) {
            net.paths[i]->stop_after(direction::down, bytes, false);
        }
    };
    const auto go_on = [&](std::uint64_t lost) {
        REQUIRE(mine.await([&] { return mine.stats().disconnects == lost; }));
        for (const auto& path : net.paths) {
            path->cut_never();
        }
        REQUIRE(mine.await_ready(3));
    };
    stop();
    report told;
    auto got = mine.acquire("r", once(&told));
    CHECK(got.error == (victims == 1 ? error_code() : make_error_code(errc::unavailable)));
    REQUIRE(mine.await([&] { return mine.stats().node_timeouts >= victims; }));
    CHECK(none_is(told, {0}, node_outcome::granted));
    go_on(victims);
    if (got.lock) {
        CHECK(got.lock.granted_by() == 2);
        stop();
        const auto begun = mine.begin_release(std::move(got.lock));
        go_on(2 * victims);
        const auto given_back = mine.finish(begun);
        CHECK_FALSE(given_back.error);
        CHECK(given_back.result == release_result::released);
    }
    CHECK(mine.await([&] { return net.nodes.count("r") == 0; }));
}
