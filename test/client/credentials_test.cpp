#include "client/fixture.hpp"

#include <redlock/credentials.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// The nodes of this program need no password: their default user accepts any.
credentials any_password()
{
    return {"", "whatever"};
}

/// Keeps the replies of a client's provider.
struct kept_replies {
    explicit kept_replies(config& c)
    {
        c.thread_safe = GENERATE(false, true);
        c.credentials = [this](std::string_view, credentials_reply reply) {
            replies.push_back(std::move(reply));
        };
    }

    void answer()
    {
        for (const credentials_reply& reply : replies) {
            reply({}, any_password());
        }
    }

    std::vector<credentials_reply> replies;
};

}  // namespace

TEST_CASE("a client whose provider replies at once gets its lock", "[client][credentials]")
{
    config c = either_kind();
    c.credentials = [](std::string_view, const credentials_reply& reply) {
        reply({}, any_password());
    };
    running_client a(c);
    CHECK(a.take(fresh_name()).owns());
}

TEST_CASE("a reply that arrives after its client is destroyed has no effect",
          "[client][credentials]")
{
    config c = shared_config();
    kept_replies kept(c);
    client_alone a(c);
    a.begin_run();
    REQUIRE(run_until(a.io, [&] { return kept.replies.size() == nodes().size(); }));
    a.locks.reset();
    SECTION("in the context's thread before and after the handler gets the end")
    {
        kept.answer();
        CHECK(run_out(a.io));
        kept.answer();
    }
    SECTION("in another thread")
    {
        std::thread other([&] { kept.answer(); });
        CHECK(run_out(a.io));
        other.join();
    }
    CHECK(run_out(a.io));
    CHECK(a.ended == make_error_code(errc::closed));
}

TEST_CASE("a reply that arrives after its client is closed has no effect", "[client][credentials]")
{
    config c = shared_config();
    kept_replies kept(c);
    client_alone a(c);
    a.begin_run();
    REQUIRE(run_until(a.io, [&] { return kept.replies.size() == nodes().size(); }));
    std::optional<error_code> closed;
    a.locks->async_close([&](error_code ec) { closed = ec; });
    kept.answer();
    CHECK(run_out(a.io));
    CHECK(closed == error_code{});
    kept.answer();
    CHECK(run_out(a.io));
    CHECK(a.locks->stats().connects == 0);
}

TEST_CASE("a reply that arrives after its execution context is gone has no effect",
          "[client][credentials]")
{
    config c = shared_config();
    kept_replies kept(c);
    std::optional<client> outlives;
    {
        asio::io_context io{1};
        outlives.emplace(io, c);
        outlives->async_run(asio::detached);
        REQUIRE(run_until(io, [&] { return kept.replies.size() == nodes().size(); }));
        if (GENERATE(false, true)) {
            kept.replies[0]({}, any_password());  // on its way when the context ends
        }
    }
    kept.answer();
    outlives.reset();
    kept.answer();
}

TEST_CASE("a provider may destroy the client that asks it", "[client][credentials]")
{
    config c = either_kind();
    unsigned asked = 0;
    std::optional<client_alone> a;
    c.credentials = [&](std::string_view, const credentials_reply& reply) {
        ++asked;
        a->locks.reset();
        reply({}, any_password());
    };
    a.emplace(c);
    a->begin_run();
    CHECK(run_out(a->io));
    CHECK(a->ended == make_error_code(errc::closed));
    CHECK(asked >= 1);
}

TEST_CASE("a provider may use the client that asks it", "[client][credentials]")
{
    config c = either_kind();
    std::optional<client_alone> a;
    std::vector<lock> taken;
    const auto name = fresh_name();
    c.credentials = [&](std::string_view, const credentials_reply& reply) {
        a->locks->async_acquire(name + std::to_string(taken.size()), long_lease(),
                                [&](error_code, lock l) { taken.push_back(std::move(l)); });
        reply({}, any_password());
    };
    a.emplace(c);
    a->begin_run();
    CHECK(run_until(a->io, [&] { return !taken.empty(); }));
    a->locks.reset();
    CHECK(run_out(a->io));
    CHECK(taken.front().fencing_token() > 0);
}
