#include "core/node/node.hpp"

#include "context.hpp"
#include "support/virtual/model_master.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using core::connection_event;

namespace {

/// One node with its server.
class fixture {
public:
    /// The server answers until nothing more is asked.
    void serve()
    {
        while (!node.out().empty()) {
            std::string& written = node.out().take();
            std::string replies;
            for (const words& command : parse_commands(written)) {
                replies += server.execute(context.shared.now, session, command);
            }
            written.clear();
            node.out().on_written({});
            node.connection().on_bytes(replies);
        }
    }
    void connect()
    {
        node.connection().begin();
        node.connection().on_connected();
        serve();
    }

    part_context context;
    node_reports reports{1};
    model_master server;
    struct session session;
    core::node node{context.shared, {reports, reports, reports}, 1, context.settings.nodes[1]};
};

using events = std::vector<connection_event>;

}  // namespace

TEST_CASE_METHOD(fixture, "a node asks for a connection and is ready after the handshake",
                 "[core][node]")
{
    node.connection().begin();
    CHECK(context.shared.to_connect == core::bit(1));
    CHECK_FALSE(node.is_ready());
    node.connection().on_connected();
    CHECK_FALSE(node.is_ready());
    serve();
    CHECK(node.is_ready());
    CHECK(reports.connections == events{connection_event::ready});
}

TEST_CASE_METHOD(fixture, "a node that cannot be reached is tried again later", "[core][node]")
{
    node.connection().begin();
    context.shared.to_connect = 0;
    node.connection().on_closed("connection refused");
    CHECK(reports.connections.back() == connection_event::unreachable);
    CHECK(node.trouble() == "connection refused");
    CHECK(context.shared.to_connect == 0);
    context.shared.now = node.wake_up();
    node.connection().on_time();
    CHECK(context.shared.to_connect == core::bit(1));
}

TEST_CASE_METHOD(fixture, "a node breaks off a connection that sends no protocol", "[core][node]")
{
    connect();
    node.connection().on_bytes("HTTP/1.1 400 Bad Request\r\n");
    CHECK(context.shared.to_close == core::bit(1));
    CHECK_FALSE(node.is_ready());
    CHECK(reports.connections.at(1) == connection_event::lost);
}

TEST_CASE_METHOD(fixture, "a node reports the vote of a round", "[core][node]")
{
    connect();
    core::lease l;
    become_lease(l);
    core::round r;
    r.of = &l;
    r.tally = core::votes{3};
    r.references = 1;
    core::encoded_row same;
    node.ask(r, same);
    CHECK(r.references == 2);
    CHECK(l.asked == core::bit(1));
    SECTION("it grants")
    {
        serve();
        CHECK(reports.votes == std::vector{node_outcome::granted});
    }
    SECTION("it refuses")
    {
        const std::string key = context.settings.key_prefix + "r";
        (void)server.execute(context.shared.now, session, {"SET", key, "other"});
        serve();
        CHECK(reports.votes == std::vector{node_outcome::refused});
    }
    SECTION("its connection is lost")
    {
        node.connection().on_closed("reset");
        CHECK(reports.votes == std::vector{node_outcome::disconnected});
    }
    CHECK(r.references == 1);
}
