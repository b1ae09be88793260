#include "core/node/requests.hpp"

#include "context.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <string>

using namespace redlock;
using namespace redlock::test;
using core::command;
using core::form;
using core::script_result;

namespace {

struct requests_of_a_node : ready_node {
    /// The result of a release that was sent in this form.
    script_result release(form f, const std::string& reply)
    {
        const core::pending p{&l, context.shared.now, command::background_release, f};
        return requests.take_script_reply(p, received(reply).reply());
    }
};

constexpr const char* unknown_script = "-NOSCRIPT No matching script.\r\n";

}  // namespace

TEST_CASE_METHOD(requests_of_a_node, "a node that answers late is stalled until it has caught up",
                 "[core][requests]")
{
    requests.send(command::ping, {});
    requests.mark_stalled();
    CHECK_FALSE(requests.is_stalled());  // it may still answer in time
    context.shared.now += context.settings.node_timeout;
    requests.send(command::ping, {});
    requests.mark_stalled();
    CHECK(requests.is_stalled());
    requests.note_reply();
    CHECK(requests.is_stalled());
    answer();
    requests.note_reply();
    CHECK_FALSE(requests.is_stalled());
    CHECK(context.shared.stats.commands == 2);
}

TEST_CASE_METHOD(requests_of_a_node, "a script that a node does not know is sent again as text",
                 "[core][requests]")
{
    requests.send(command::background_release, l);
    CHECK(requests.oldest().sent_as == form::evalsha);
    CHECK(requests.unanswered_releases() == 1);
    const core::pending p = requests.take_oldest();
    CHECK(requests.take_script_reply(p, received(unknown_script).reply()) == script_result::again);
    CHECK(context.shared.stats.script_reloads == 1);
    requests.send_again(p);
    requests.drop_subject(p);
    CHECK(requests.oldest().sent_as == form::eval);
    CHECK(requests.script_form() == form::evalsha);
    CHECK(l.references == 2);
    answer();
    CHECK(l.references == 1);
    CHECK(requests.unanswered_releases() == 0);
}

TEST_CASE_METHOD(requests_of_a_node, "a form that a node refuses is not used on this connection",
                 "[core][requests]")
{
    constexpr const char* refused = "-ERR unknown command\r\n";
    model_master server;
    server.has_delifeq = true;
    greet(server);
    CHECK(requests.release_form(l) == form::delifeq);
    CHECK(release(form::delifeq, refused) == script_result::again);
    CHECK(requests.release_form(l) == form::evalsha);
    CHECK(release(form::evalsha, refused) == script_result::again);
    CHECK(requests.release_form(l) == form::eval);
    CHECK(release(form::eval, refused) == script_result::error);
    requests.on_ready();
    CHECK(requests.release_form(l) == form::delifeq);
}

TEST_CASE_METHOD(requests_of_a_node,
                 "a script answers 1 or 0, and a key of another type counts as 0",
                 "[core][requests]")
{
    CHECK(release(form::evalsha, ":1\r\n") == script_result::yes);
    CHECK(release(form::evalsha, ":0\r\n") == script_result::no);
    CHECK(release(form::evalsha, "-WRONGTYPE Operation against a key\r\n") == script_result::no);
    CHECK(release(form::evalsha, ":2\r\n") == script_result::nonsense);
    CHECK(release(form::evalsha, "$-1\r\n") == script_result::nonsense);
    CHECK(release(form::evalsha, "-LOADING the data\r\n") == script_result::error);
}

TEST_CASE_METHOD(requests_of_a_node,
                 "a full buffer takes a command again once nothing is unanswered",
                 "[core][requests]")
{
    context.settings.max_buffered_bytes = 1;
    requests.send(command::ping, {});
    CHECK_FALSE(requests.has_room_or_is_idle());
    CHECK(release(form::evalsha, unknown_script) == script_result::no_room);
    answer();
    CHECK_FALSE(requests.has_room());
    CHECK(requests.has_room_or_is_idle());
    CHECK(release(form::evalsha, unknown_script) == script_result::again);
}

TEST_CASE_METHOD(requests_of_a_node, "a command whose words cannot be made leaves nothing",
                 "[core][requests]")
{
    const auto fail = [](std::string& out, const core::wording&) {
        out += "half";
        throw std::bad_alloc();
    };
    CHECK_THROWS_AS(requests.send_words(command::background_release, l, form::evalsha, fail),
                    std::bad_alloc);
    CHECK(requests.empty());
    CHECK(requests.out().empty());
    CHECK(l.references == 1);
}

TEST_CASE_METHOD(requests_of_a_node, "words for one node are copied for another in the same form",
                 "[core][requests]")
{
    core::encoded_row same;
    requests.send(command::background_release, l, form::evalsha, &same);
    CHECK(same.bytes == requests.out().last());
    same.bytes = "copied";
    requests.send(command::background_release, l, form::evalsha, &same);
    CHECK(requests.out().last().ends_with("copied"));
    requests.send(command::background_release, l, form::eval, &same);
    CHECK(same.sent_as == form::eval);
    CHECK(requests.out().last().ends_with(same.bytes));
    CHECK(same.bytes != "copied");
}

namespace {

/// A node and leases of several resources.
struct batches_of_a_node : ready_node {
    static constexpr std::size_t longest_key = 256;

    batches_of_a_node()
    {
        for (std::size_t i = 0; i < leases.size(); ++i) {
            become_lease(leases[i]);
            leases[i].resource = std::to_string(i);
            leases[i].resource.resize(longest_key, 'r');
            leases[i].resource_hash = i;
            extends[i].of = &leases[i];
            extends[i].ttl = base::max_ttl;
            extends[i].references = 1;
        }
    }

    /// Sends the releases of these leases in a batch.
    void release(std::initializer_list<std::size_t> which, core::encoded_batches& same)
    {
        for (const std::size_t i : which) {
            requests.send_release(command::background_release, leases[i], leases[i]);
        }
        requests.send_batches(same);
    }
    void extend_all()
    {
        for (core::round& r : extends) {
            requests.send_extend(r);
        }
        core::encoded_batches none;
        requests.send_batches(none);
    }

    std::array<core::lease, core::batch::max_size> leases;
    std::array<core::round, core::batch::max_size> extends;
};

}  // namespace

TEST_CASE_METHOD(batches_of_a_node, "the words of a batch are copied only for the same commands",
                 "[core][requests][batch]")
{
    core::encoded_batches same;
    release({0, 1}, same);
    REQUIRE(same.releases.bytes == requests.out().last());
    same.releases.bytes = "copied";
    requests.on_ready();
    release({0, 1}, same);
    CHECK(requests.out().last().ends_with("copied"));
    SECTION("not for other commands of the same number")
    {
        requests.on_ready();
        release({0, 2}, same);
    }
    SECTION("not for another form of the script")
    {
        release({0, 1}, same);
        CHECK(same.releases.sent_as == form::evalsha);
    }
    CHECK_FALSE(requests.out().last().ends_with("copied"));
    CHECK(requests.out().last().ends_with(same.releases.bytes));
}

TEST_CASE_METHOD(batches_of_a_node, "the longest batch fits into the room that is made for it",
                 "[core][requests][batch]")
{
    extend_all();
    const std::size_t size = requests.out().size();
    REQUIRE(size > core::batch::max_size * longest_key);
    requests.on_ready();
    std::string& block = requests.out().last();
    const std::size_t capacity = block.capacity();
    block.resize(core::output_blocks::block_size - size + 1);
    extend_all();
    CHECK(requests.out().last().size() == size);
    CHECK(requests.out().last().capacity() == capacity);
}
