#include "client/operations.hpp"

#include <boost/system/system_error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

/// The least ttl that the node timeout of these tests allows.
constexpr std::chrono::milliseconds least_ttl = 4 * patience;

struct fixture : scene {
    fixture() : scene(shared_config()) { start(); }

    /// The error of an operation that must send nothing to a node.
    template <class Operation>
    error_code refused(auto&& begin)
    {
        const auto before = locks->stats().commands;
        outcome<Operation> got;
        begin(got.receiver());
        REQUIRE(run_until(io, [&] { return got.done; }));
        io.poll();
        CHECK(locks->stats().commands == before);
        if (got.error) {
            CHECK(got.error == condition::invalid_argument);
        }
        return got.error;
    }

    error_code acquire(const std::string& resource, const acquire_options& o)
    {
        return refused<acquiring>(
            [&](auto token) { locks->async_acquire(resource, o, std::move(token)); });
    }

    /// The result of the same operation with valid arguments.
    error_code acquire_in_earnest(const std::string& resource, const acquire_options& o)
    {
        outcome<acquiring> got;
        locks->async_acquire(resource, o, got.receiver());
        REQUIRE(run_until(io, [&] { return got.done; }));
        return got.error;
    }

    error_code with(std::function<void(acquire_options&)> change)
    {
        acquire_options o = long_lease();
        change(o);
        return acquire(name, o);
    }

    error_code with_in_earnest(std::function<void(acquire_options&)> change)
    {
        acquire_options o = long_lease();
        change(o);
        return acquire_in_earnest(name, o);
    }
};

}  // namespace

TEST_CASE_METHOD(fixture, "an acquire refuses what makes no sense", "[arguments]")
{
    CHECK(acquire("", long_lease()) == errc::invalid_resource);
    CHECK(acquire("", {.ttl = std::chrono::milliseconds{0}}) == errc::invalid_resource);
    CHECK(acquire(std::string(max_resource_size + 1, 'x'), long_lease()) == errc::invalid_resource);
    using ms = std::chrono::milliseconds;
    for (const ms ttl : {ms::min(), ms(-1), ms(0), ms(1), least_ttl - 1ms, ms::max()}) {
        CAPTURE(ttl.count());
        CHECK(with([&](auto& o) { o.ttl = ttl; }) == errc::invalid_ttl);
    }
    for (const ms deadline : {ms(-1), ms::min()}) {
        CHECK(with([&](auto& o) { o.timeout = deadline; }) == errc::invalid_timeout);
    }
    CHECK(with([](auto& o) { o.max_attempts = 0; }) == errc::invalid_max_attempts);
    for (const ms outage : {ms(-1), ms::min()}) {
        CHECK(with([&](auto& o) { o.max_outage = outage; }) == errc::invalid_max_outage);
    }
    for (const ms validity : {ms(-1), ms::min(), long_ttl, ms::max()}) {
        CAPTURE(validity.count());
        CHECK(with([&](auto& o) { o.min_validity = validity; }) == errc::invalid_min_validity);
    }
    for (const std::string& label :
         {std::string(max_label_size + 1, 'x'), std::string("a\nb"), std::string(1, '\0')}) {
        CHECK(with([&](auto& o) { o.label = label; }) == errc::invalid_label);
    }
    for (const char* reserved : {"r:redlock:holder", "r:redlock:queue", "r:redlock:ticket"}) {
        CHECK(acquire(reserved, long_lease()) == errc::invalid_resource);
    }
    CHECK(locks->stats().attempts == 0);
}

TEST_CASE_METHOD(fixture, "an acquire takes what is just right", "[arguments]")
{
    CHECK(acquire_in_earnest(std::string(max_resource_size, 'x'), long_lease()) == error_code{});
    CHECK(with_in_earnest([](auto& o) { o.ttl = least_ttl; }) == error_code{});
    name = fresh_name();
    CHECK(with_in_earnest([](auto& o) { o.timeout = 0ms; }) == error_code{});
    name = fresh_name();
    CHECK(with_in_earnest([](auto& o) { o.max_attempts = 1; }) == error_code{});
    name = fresh_name();
    CHECK(with_in_earnest([](auto& o) { o.min_validity = long_ttl / 2; }) == error_code{});
    name = fresh_name();
    CHECK(with_in_earnest([](auto& o) { o.timeout = std::chrono::milliseconds::max(); }) ==
          error_code{});
    name = fresh_name();
    CHECK(with_in_earnest([](auto& o) { o.max_outage = 0ms; }) == error_code{});
    name = fresh_name();
    const std::string longest(max_label_size, 'x');
    CHECK(with_in_earnest([&](auto& o) { o.label = longest; }) == error_code{});
    name = fresh_name();
    CHECK(with_in_earnest([](auto& o) { o.max_outage = std::chrono::milliseconds::max(); }) ==
          error_code{});
}

TEST_CASE_METHOD(fixture, "an extend refuses what makes no sense", "[arguments]")
{
    held = take(name);
    const auto until = held.valid_until();
    const auto extend = [&](lock& l, std::chrono::milliseconds ttl) {
        return refused<extending>([&](auto token) { locks->async_extend(l, ttl, token); });
    };
    CHECK(extend(held, 0ms) == errc::invalid_ttl);
    CHECK(extend(held, -1ms) == errc::invalid_ttl);
    CHECK(extend(held, least_ttl - 1ms) == errc::invalid_ttl);
    CHECK(extend(held, std::chrono::milliseconds::max()) == errc::invalid_ttl);
    CHECK(held.valid_until() == until);
    CHECK(held.owns());
}

TEST_CASE_METHOD(fixture, "a lock that holds nothing can be neither extended nor released",
                 "[arguments]")
{
    const auto commands = [&] { return locks->stats().commands; };
    const auto before = commands();
    outcome<extending> extend;
    outcome<releasing> release;
    lock empty;

    SECTION("default constructed") {}
    SECTION("moved from")
    {
        held = take(name);
        empty = std::move(held);
        std::swap(empty, held);
        CHECK_FALSE(empty);
    }
    const auto now = std::max(before, commands());
    locks->async_extend(empty, long_ttl, extend.receiver());
    locks->async_release(std::move(empty), release.receiver());
    REQUIRE(run_until(io, [&] { return extend.done && release.done; }));
    CHECK(extend.error == errc::not_held);
    CHECK(release.error == errc::not_held);
    CHECK(commands() == now);
}

TEST_CASE_METHOD(fixture, "a lock of another client is refused", "[arguments]")
{
    running_client other;
    held = other.take(name);
    CHECK(refused<extending>([&](auto token) { locks->async_extend(held, long_ttl, token); }) ==
          errc::invalid_owner_token);
    CHECK(held.owns());
    CHECK(refused<releasing>([&](auto token) { locks->async_release(std::move(held), token); }) ==
          errc::invalid_owner_token);
    // The lock was handed in nevertheless, so its own client releases it.
    CHECK(other.keys_become(0, name));
}

TEST_CASE_METHOD(fixture, "an adoption refuses what makes no sense", "[arguments]")
{
    const std::string somebody(40, 'a');
    const auto adopt = [&](const std::string& resource, const std::string& token_of,
                           std::chrono::milliseconds ttl) {
        return refused<adopting>(
            [&](auto token) { locks->async_adopt(resource, token_of, ttl, token); });
    };
    CHECK(adopt("", somebody, long_ttl) == errc::invalid_resource);
    CHECK(adopt(std::string(max_resource_size + 1, 'x'), somebody, long_ttl) ==
          errc::invalid_resource);
    CHECK(adopt(name, somebody, 0ms) == errc::invalid_ttl);
    CHECK(adopt(name, somebody, least_ttl - 1ms) == errc::invalid_ttl);
    for (const std::string& wrong : {std::string(), somebody.substr(1), somebody + 'a',
                                     std::string(40, 'A'), std::string(40, 'g')}) {
        CAPTURE(wrong);
        CHECK(adopt(name, wrong, long_ttl) == errc::invalid_owner_token);
    }
    outcome<adopting> got;
    locks->async_adopt(name, somebody, long_ttl, got.receiver());
    REQUIRE(run_until(io, [&] { return got.done; }));
    CHECK(got.error == errc::lost);
    CHECK(nodes().count(name) == 0);
}

TEST_CASE_METHOD(fixture, "an inspection refuses what makes no sense", "[arguments]")
{
    const auto inspect = [&](const std::string& resource) {
        return refused<inspecting>([&](auto token) { locks->async_inspect(resource, token); });
    };
    CHECK(inspect("") == errc::invalid_resource);
    CHECK(inspect(std::string(max_resource_size + 1, 'x')) == errc::invalid_resource);
    CHECK(refused<inspecting>([&](auto token) {
              locks->async_inspect(name, {.owner_token = "of nobody"}, token);
          }) == errc::invalid_owner_token);
}

TEST_CASE("an operation beyond the limit is refused", "[arguments]")
{
    config c = either_kind();
    c.max_in_flight = 3;
    running_scene s(c);
    std::array<outcome<acquiring>, 4> got;
    for (auto& one : got) {
        s.locks->async_acquire(fresh_name(), long_lease(), one.receiver());
    }
    REQUIRE(run_until(s.io, [&] {
        return std::all_of(got.begin(), got.end(), [](const auto& one) { return one.done; });
    }));
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK_FALSE(got[i].error);
    }
    CHECK(got[3].error == errc::overloaded);
    // The client has room again.
    CHECK(s.take(s.name).owns());
}

TEST_CASE("the constructor refuses an invalid configuration", "[arguments]")
{
    asio::io_context io;
    config c = shared_config();
    c.nodes.clear();
    try {
        const client never(io, c);
        FAIL("no nodes, and no exception");
    } catch (const boost::system::system_error& e) {
        CHECK(e.code() == errc::invalid_config);
        CHECK(std::string(e.what()).find("nodes") != std::string::npos);
    }
}
