#include "engine/credentials_request.hpp"
#include "support/allocation_count.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;

namespace {

struct reply_log final : engine::credentials_events {
    void on_credentials(engine::credentials_request& answered) override
    {
        nodes.push_back(answered.node());
        failures.push_back(answered.failure());
        users.push_back(answered.given().user);
        passwords.emplace_back(answered.given().password.view());
    }

    std::vector<unsigned> nodes;
    std::vector<std::string> failures;
    std::vector<std::string> users;
    std::vector<std::string> passwords;
};

struct asker {
    std::shared_ptr<engine::credentials_request> ask(const credentials_provider& provider)
    {
        const auto request =
            std::make_shared<engine::credentials_request>(io.get_executor(), log, 7U);
        request->ask(provider, "redis://10.0.0.1:6379/0");
        return request;
    }

    boost::asio::io_context io{1};
    std::shared_ptr<reply_log> log = std::make_shared<reply_log>();
};

}  // namespace

TEST_CASE("a provider's reply takes effect on the client's executor and never within the call",
          "[engine][credentials]")
{
    asker a;
    std::string asked_for;
    const auto request = a.ask([&](std::string_view node, const credentials_reply& reply) {
        asked_for = node;
        reply({}, {"app", "a-new-password"});
    });
    CHECK(asked_for == "redis://10.0.0.1:6379/0");
    CHECK(a.log->nodes.empty());
    a.io.run();
    CHECK(a.log->nodes == std::vector<unsigned>{7});
    CHECK(a.log->failures == std::vector<std::string>{""});
    CHECK(a.log->users == std::vector<std::string>{"app"});
    CHECK(a.log->passwords == std::vector<std::string>{"a-new-password"});
    // A user may keep the reply and the request with it.
    CHECK(request->given().password.empty());
}

TEST_CASE("the first reply counts from any thread and any copy", "[engine][credentials]")
{
    asker a;
    credentials_reply kept;
    const auto request =
        a.ask([&](std::string_view, credentials_reply reply) { kept = std::move(reply); });
    std::thread([copy = kept] { copy({}, {"first", "one"}); }).join();
    kept({}, {"second", "two"});
    kept(boost::asio::error::access_denied, {});
    a.io.run();
    CHECK(a.log->users == std::vector<std::string>{"first"});
}

TEST_CASE("an error or exception of a provider is reported as a failure", "[engine][credentials]")
{
    asker a;
    SECTION("an error hides the credentials that come with it")
    {
        const error_code denied = boost::asio::error::access_denied;
        a.ask([&](std::string_view, const credentials_reply& reply) {
            reply(denied, {"app", "a-new-password"});
        });
        a.io.run();
        CHECK(a.log->failures == std::vector<std::string>{"credentials: " + denied.message()});
        CHECK(a.log->passwords == std::vector<std::string>{""});
    }
    SECTION("an exception becomes one line")
    {
        a.ask([](std::string_view, const credentials_reply&) {
            throw std::runtime_error("the vault\nis sealed");
        });
        a.io.run();
        CHECK(a.log->failures == std::vector<std::string>{"credentials: the vault\\nis sealed"});
    }
    SECTION("an exception may have any type")
    {
        a.ask([](std::string_view, const credentials_reply&) { throw 1; });
        a.io.run();
        CHECK(a.log->failures ==
              std::vector<std::string>{"credentials: the provider threw an exception"});
    }
    SECTION("but not after a reply")
    {
        a.ask([](std::string_view, const credentials_reply& reply) {
            reply({}, {"app", "x"});
            throw std::runtime_error("too late");
        });
        a.io.run();
        CHECK(a.log->failures == std::vector<std::string>{""});
    }
}

TEST_CASE("user and password together may be as long as a URL but not longer",
          "[engine][credentials]")
{
    constexpr std::size_t most = 16 * 1024;
    for (const std::size_t size : {most, most + 1}) {
        asker a;
        a.ask([&](std::string_view, const credentials_reply& reply) {
            reply({}, {"app", std::string(size - 3, 'p')});
        });
        a.io.run();
        CHECK(a.log->failures.at(0) ==
              (size == most ? "" : "credentials: user and password are longer than 16384 bytes"));
        CHECK(a.log->passwords.at(0).size() == (size == most ? size - 3 : 0));
    }
}

TEST_CASE("a reply after the end of the client or its attempt or its context does nothing",
          "[engine][credentials]")
{
    credentials_reply kept;
    const auto keep = [&](std::string_view, credentials_reply reply) { kept = std::move(reply); };
    SECTION("after the attempt")
    {
        asker a;
        a.ask(keep)->close();
        kept({}, {"app", "x"});
        a.io.run();
        CHECK(a.log->nodes.empty());
    }
    SECTION("after the client")
    {
        asker a;
        const auto request = a.ask(keep);
        const std::weak_ptr<reply_log> gone = std::exchange(a.log, nullptr);
        CHECK(gone.expired());
        kept({}, {"app", "x"});
        a.io.run();
        CHECK(request->given().password.empty());
    }
    SECTION("after the context whose strand must not outlive it")
    {
        auto io = std::make_optional<boost::asio::io_context>(1);
        const auto log = std::make_shared<reply_log>();
        const auto request = std::make_shared<engine::credentials_request>(
            boost::asio::make_strand(io->get_executor()), log, 0U);
        request->ask(keep, "redis://10.0.0.1:6379/0");
        request->close();
        io.reset();
        kept({}, {"app", "x"});
        CHECK(log->nodes.empty());
    }
}

TEST_CASE("a reply without memory has no effect and throws nothing", "[engine][credentials]")
{
    asker a;
    credentials_reply kept;
    const auto request =
        a.ask([&](std::string_view, credentials_reply reply) { kept = std::move(reply); });
    credentials late{"somebody with a long name", "a password that needs memory of its own"};
    {
        test::failing_allocations memory(0, 1000);
        const test::failing_allocations::in here(memory);
        kept({}, std::move(late));
    }
    a.io.run();
    CHECK(a.log->nodes.empty());
    CHECK(request->given().password.empty());
}
