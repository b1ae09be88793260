#include "harness.hpp"
#include "resp/scripts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::string_view secret = "s3cr3t-PASSWORD";

config with_password(std::string_view url_password = secret)
{
    config c;
    c.nodes = {"redis://somebody:" + std::string(url_password) + "@10.0.0.1"};
    return c;
}

/// A client of one node, whose test answers for the node from the first command on.
struct greeting_world : bench_world {
    explicit greeting_world(redlock::config c = {}) : bench_world(1, std::move(c))
    {
        peers[0]->manual_handshake = true;
        start();
    }
};

bool says_somewhere(const bench_world& w, std::string_view text)
{
    for (const std::string& line : w.log_lines) {
        if (line.find(text) != line.npos) {
            return true;
        }
    }
    for (const call& c : w.calls) {
        for (const node_report& n : c.report.nodes) {
            if (n.error.find(text) != n.error.npos || n.node.find(text) != n.node.npos) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

TEST_CASE("a handshake with HELLO sets up the connection", "[core]")
{
    greeting_world w;
    REQUIRE(w.peers[0]->asked.size() == 1);
    CHECK(w.peers[0]->asked[0] == words{"HELLO", "3", "SETNAME", "redlock"});
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    CHECK(w.pending(0) == std::vector<std::string>{"SCRIPT", "SCRIPT", "SCRIPT", "SCRIPT", "SCRIPT",
                                                   "COMMAND", "EVALSHA", "INFO", "INFO"});
    CHECK(w.peers[0]->asked[6][4] == std::string(40, '0'));
    for (int i = 0; i < 5; ++i) {
        w.answer(0, "$3\r\nsha\r\n");
    }
    w.answer(0, "*2\r\n_\r\n_\r\n");
    CHECK(w.ready() == 0);
    w.answer(0, no);
    CHECK(w.ready() == 0);
    w.answer(0, "-NOPERM this user has no permissions to run the 'info' command\r\n");
    w.answer(0, "-NOPERM this user has no permissions to run the 'info' command\r\n");
    CHECK(w.ready() == 0);
    REQUIRE(w.pending(0) == std::vector<std::string>{"ROLE"});
    w.answer(0, "-NOPERM this user has no permissions to run the 'role' command\r\n");
    CHECK(w.ready() == 1);
    CHECK(w.core->snapshot().connects == 1);
    CHECK(w.log_lines.empty());
}

TEST_CASE("a handshake selects the database and sends user and password", "[core]")
{
    config c = with_password();
    c.nodes[0] += "/7";
    c.client_name.clear();
    greeting_world w{c};
    CHECK(w.peers[0]->asked[0] == words{"HELLO", "3", "AUTH", "somebody", std::string(secret)});
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    CHECK(w.peers[0]->asked[0] == words{"SELECT", "7"});
    w.answer(0, "-ERR DB index is out of range\r\n");
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.why_unused().find("database") != std::string::npos);
}

TEST_CASE("a node counts as connecting until a temporary refusal has ended", "[core]")
{
    const std::string refusal =
        GENERATE("LOADING Redis is loading the dataset in memory",
                 "BUSY Redis is busy running a script", "MASTERDOWN Link with MASTER is down");
    CAPTURE(refusal);
    bench_world w{4};
    w.peers[0]->master.refusals["SCRIPT"] = refusal;
    w.peers[1]->master.refusals["HELLO"] = "WRONGPASS invalid username-password pair";
    w.peers[2]->dial = peer::dialling::refused;
    w.start();
    w.advance(10s);
    CHECK(w.ready() == 1);
    CHECK(w.core->snapshot().nodes_connecting == 1);
    SECTION("the node can be used")
    {
        w.peers[0]->master.refusals.clear();
        w.advance(10s);
        CHECK(w.ready() == 2);
    }
    SECTION("the server is gone")
    {
        w.peers[0]->dial = peer::dialling::refused;
        w.advance(10s);
    }
    CHECK(w.core->snapshot().nodes_connecting == 0);
}

TEST_CASE("a client greets a server without HELLO with older commands", "[core]")
{
    bench_world w{1, with_password()};
    w.peers[0]->master.knows_hello = false;
    w.peers[0]->master.hides_commands = GENERATE(false, true);
    w.peers[0]->master.password = secret;
    w.start();
    REQUIRE(w.ready() == 1);
    core::lease& l = w.lock("r");
    CHECK(w.release(l).released == release_result::released);
    CHECK_FALSE(says_somewhere(w, secret));
}

TEST_CASE("a client reports a wrong password without the password", "[core]")
{
    for (const bool knows_hello : {true, false}) {
        bench_world w{1, with_password()};
        w.peers[0]->master.knows_hello = knows_hello;
        w.peers[0]->master.password = "another";
        w.start();
        CHECK(w.ready() == 0);
        CHECK(w.why_unused().find("WRONGPASS") != std::string::npos);
        REQUIRE(w.log_levels.size() == 1);
        CHECK(w.log_levels[0] == log_level::error);
        CHECK_FALSE(says_somewhere(w, secret));
        w.advance(10s);
        // Logged once, and retried at long intervals.
        CHECK(w.log_lines.size() == 1);
        CHECK(w.peers[0]->dials.size() < 60);
    }
}

TEST_CASE("a server that has no room for another client has not refused the password", "[core]")
{
    bench_world w{1, with_password()};
    w.peers[0]->master.knows_hello = false;
    w.peers[0]->master.refusals["AUTH"] = "ERR max number of clients reached";
    w.start();
    CHECK(w.why_unused().find("too many clients") != std::string::npos);
    CHECK(w.log_levels.at(0) == log_level::warning);
    call& c = w.acquire("r", {.timeout = 1min});
    w.advance(10s);
    CHECK_FALSE(c.done());
    w.peers[0]->master.refusals.clear();
    w.advance(10s);
    CHECK(c.held != nullptr);
}

TEST_CASE("a client reports a missing password", "[core]")
{
    bench_world w{1};
    w.peers[0]->master.password = "wanted";
    w.start();
    CHECK(w.ready() == 0);
    CHECK(w.why_unused().find("NOAUTH") != std::string::npos);
    CHECK(w.log_levels.at(0) == log_level::error);
}

TEST_CASE("a client sends scripts as text to a node that begins to refuse their digests", "[core]")
{
    const std::string refusal =
        GENERATE("NOPERM User x has no permissions to run the 'evalsha' command",
                 "ERR unsupported command 'EVALSHA'", "evalsha is not allowed here");
    running_world w;
    const acquire_options o{.label = "backup"};
    core::lease& one = w.lock("r", o);
    call& both = w.acquire(std::vector<std::string>{"a", "b"}, o);
    w.advance(10ms);
    REQUIRE(both.held != nullptr);
    w.refuse("EVALSHA", refusal);
    CHECK_FALSE(w.extend(one, 20s).error);
    CHECK_FALSE(w.extend(*both.held, 20s).error);
    CHECK(w.inspect("r").found.state == lock_state::held);
    CHECK(w.acquire(std::vector<std::string>{"c", "d"}, o).held != nullptr);
    CHECK(w.release(one).released == release_result::released);
    CHECK(w.release(*both.held).released == release_result::released);
    CHECK(w.ready() == 3);
    const std::size_t by_digest = w.count(0, "EVALSHA");
    w.lock("again", o);
    CHECK(w.count(0, "EVALSHA") == by_digest);
}

TEST_CASE("a client sends no script again for an error of its data or of its commands", "[core]")
{
    const std::string error = GENERATE(
        "OOM command not allowed when used memory > 'maxmemory'.",
        "NOPERM No permissions to access a key",
        "ERR ACL failure in script: User x has no permissions to run the 'get' command script: "
        "aa, on @user_script:1.",
        "ERR a fencing counter is no number");
    running_world w{1};
    core::lease& l = w.lock("r");
    w.peers[0]->master.refusals["EVALSHA"] = error;
    CHECK(w.extend(l, 20s).error);
    CHECK(w.count(0, "EVAL") == 0);
    w.peers[0]->master.refusals.clear();
    CHECK_FALSE(w.extend(l, 20s).error);
    CHECK(w.count(0, "EVAL") == 0);
}

TEST_CASE("a lost connection wipes a password that was not yet written", "[core]")
{
    // Not with bench_world, which takes and copies all output.
    base::settings s = base::make_settings(with_password());
    seeded_entropy random{1};
    const instant now = instant{} + 1000s;
    virtual_date date{now};
    core::client_core core(s, random, date);
    core.network().start(now);
    core.network().on_connected(now, 0);
    const std::string& out = core.network().take_output(0);
    const std::string_view bytes = out;
    REQUIRE(bytes.find(secret) != bytes.npos);
    core.network().on_closed(now, 0, "closed by the node");
    CHECK(out.empty());
    CHECK(bytes.find_first_not_of('\0') == bytes.npos);
}

TEST_CASE("the buffer with the password does not grow during a handshake", "[core]")
{
    config c;
    c.nodes = {"redis://somebody:" + std::string(9000, 'p') + "@10.0.0.1/3"};
    c.client_name = std::string(900, 'n');
    c.key_prefix = std::string(900, 'k');
    const base::settings s = base::make_settings(c);
    core::handshake talk(s, s.nodes[0]);
    std::string out;
    resp::reader replies;
    unsigned expected = talk.start(out);
    const char* const at = out.data();
    // All commands of a handshake, to a server that answers before anything is written.
    replies.feed(
        "-ERR unknown command\r\n+OK\r\n+OK\r\n+OK\r\n"
        "$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n"
        "*2\r\n*1\r\n:1\r\n*-1\r\n-NOSCRIPT\r\n-NOPERM\r\n-NOPERM\r\n-NOPERM\r\n-NOPERM\r\n"
        ":0\r\n");
    resp::reply r;
    auto how = core::handshake::progress::going_on;
    while (replies.next(r) == resp::read_status::ready) {
        how = talk.on_reply(r, out, expected);
    }
    CHECK(how == core::handshake::progress::ready);
    CHECK(out.find("DELIFEQ") != out.npos);
    CHECK(out.data() == at);
}

TEST_CASE("a client hides a password that an error repeats anywhere in the handshake", "[core]")
{
    const std::string echo = "-ERR I was told '" + std::string(secret) + "'\r\n";
    for (unsigned at = 0; at < 9; ++at) {
        greeting_world w{with_password()};
        for (unsigned i = 0; i < at && !w.peers[0]->asked.empty(); ++i) {
            const bool is_probe = w.pending(0).front() == "EVALSHA";
            w.answer(0, i == 0 ? "%1\r\n+proto\r\n:3\r\n" : is_probe ? no : "+OK\r\n");
        }
        if (!w.peers[0]->asked.empty()) {
            w.answer(0, echo);
        }
        (void)w.acquire("r", {.timeout = 0ms});
        w.advance(60ms);
        CHECK_FALSE(says_somewhere(w, secret));
        CHECK_FALSE(says_somewhere(w, "I was told"));
    }
}

TEST_CASE("an error before the first answer is about the connection", "[core]")
{
    const auto [line, part] = GENERATE_COPY(table<std::string, std::string>(
        {{"-ERR max number of clients reached\r\n", "too many clients"},
         {"-DENIED Redis is running in protected mode because...\r\n", "DENIED"}}));
    greeting_world w;
    w.send(0, line);
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.why_unused().find(part) != std::string::npos);
    w.peers[0]->manual_handshake = false;
    w.advance(3s);
    CHECK(w.ready() == 1);
    CHECK(w.log_levels.back() == log_level::info);
}

TEST_CASE("a client does not use a node that is loading its data", "[core]")
{
    for (const char* at : {"SCRIPT LOAD", "EVALSHA"}) {
        bench_world w{1};
        w.peers[0]->master.refusals[at] = "LOADING Redis is loading the dataset in memory";
        w.start();
        CHECK(w.ready() == 0);
        CHECK(w.why_unused() == "loads its data (LOADING)");
        CHECK(w.log_levels.at(0) == log_level::warning);
        CHECK(w.core->snapshot().nodes_connecting == 1);
        w.advance(5s);
        CHECK(w.ready() == 0);
        CHECK(w.core->snapshot().nodes_connecting == 1);
        w.peers[0]->master.refusals.clear();
        w.advance(2s);
        CHECK(w.ready() == 1);
        CHECK(w.core->snapshot().nodes_connecting == 0);
    }
}

TEST_CASE("p42: a client does not use a node on which it could release nothing",
          "[core][pitfall][p42]")
{
    const std::string line = GENERATE(
        "NOPERM this user has no permissions to run the 'evalsha' command",
        "NOPERM User keymaster has no permissions to run the 'evalsha' command",
        "NOPERM keymaster may not use it",
        "ERR unknown command 'EVALSHA', with args beginning with: ",
        "ERR The user executing the script can't run this command or subcommand script: 123");
    const bool has_native = GENERATE(false, true);
    bench_world w{1};
    model_master& m = w.peers[0]->master;
    m.has_delifeq = has_native;
    for (const char* name : {"EVALSHA", "EVAL", "DELIFEQ"}) {
        m.refusals[name] = line;
    }
    w.start();
    CHECK(w.ready() == 0);
    (void)w.why_unused();
    CHECK(m.sets == 0);
    CHECK(w.log_levels.at(0) == log_level::error);
}

TEST_CASE("p42: permission for the node's own compare-and-delete is enough", "[core][pitfall][p42]")
{
    bench_world w{1};
    model_master& m = w.peers[0]->master;
    m.has_delifeq = true;
    m.refusals["EVALSHA"] = m.refusals["EVAL"] = "NOPERM User x has no permissions to run this";
    w.start();
    REQUIRE(w.ready() == 1);
    core::lease& l = w.lock("r");
    CHECK(w.release(l).released == release_result::released);
}

TEST_CASE("a client uses a node that forbids only the key of the probe", "[core]")
{
    for (const char* line :
         {"NOPERM No permissions to access a key",
          "NOPERM this user has no permissions to access one of the keys used as arguments"}) {
        bench_world w{1};
        w.peers[0]->master.refusals["EVALSHA"] = line;
        w.start();
        CHECK(w.ready() == 1);
    }
}

TEST_CASE("a client without permission to load scripts sends them as text", "[core]")
{
    bench_world w{1, {.fair_queue = false}};
    model_master& m = w.peers[0]->master;
    m.refusals["SCRIPT"] = m.refusals["SCRIPT LOAD"] = "NOPERM no permissions to run 'script|load'";
    w.start();
    REQUIRE(w.ready() == 1);
    core::lease& l = w.lock("r");
    CHECK_FALSE(w.extend(l, 10s).error);
    CHECK(w.inspect("r").found.state == lock_state::held);
    CHECK(w.release(l).released == release_result::released);
    CHECK(w.count(0, "EVAL") == 2);
    CHECK(w.core->snapshot().script_reloads == 2);
    core::lease& again = w.lock("r");
    CHECK_FALSE(w.extend(again, 10s).error);
    CHECK(w.count(0, "EVAL") == 2);
}

TEST_CASE("a client sends all scripts as text if the node permits only that", "[core]")
{
    const bool has_native = GENERATE(false, true);
    bench_world w{3, {.fair_queue = false}};
    // The first node permits all commands, so its scripts must not be copied for the others.
    for (unsigned i : {1U, 2U}) {
        model_master& m = w.peers[i]->master;
        m.refusals["EVALSHA"] = "NOPERM User x has no permissions to run the 'evalsha' command";
        m.has_delifeq = has_native;
    }
    w.start();
    REQUIRE(w.ready() == 3);
    core::lease& l = w.lock("r");
    CHECK_FALSE(w.extend(l, 20s).error);
    CHECK(w.inspect("r").found.state == lock_state::held);
    for (unsigned i : {1U, 2U}) {
        // From now on the node forbids its own compare-and-delete too.
        w.peers[i]->master.refusals["DELIFEQ"] = "NOPERM this user has no permissions to run it";
    }
    CHECK(w.release(l).released == release_result::released);
    w.drop(w.lock("r"));
    CHECK(w.keys() == 0);
    CHECK(w.count(0, "EVAL") == 0);
    CHECK(w.count(0, "EVALSHA") == 4);
    for (unsigned i : {1U, 2U}) {
        CHECK(w.count(i, "EVALSHA") == 0);
        CHECK(w.count(i, "EVAL") == 4);
        CHECK(w.count(i, "DELIFEQ") == (has_native ? 1 : 0));
    }
    CHECK(w.is_idle());
    CHECK(w.core->snapshot().node_errors == (has_native ? 2 : 0));
}

TEST_CASE("a client asks for its permissions on each connection", "[core]")
{
    bench_world w{1};
    model_master& m = w.peers[0]->master;
    m.refusals["EVALSHA"] = "NOPERM User x has no permissions to run the 'evalsha' command";
    w.start();
    w.drop(w.lock("r"));
    CHECK(w.count(0, "EVAL") == 1);
    m.refusals.clear();
    w.close(0);
    w.advance(3s);
    REQUIRE(w.ready() == 1);
    w.drop(w.lock("r"));
    CHECK(w.count(0, "EVAL") == 1);
    CHECK(w.count(0, "EVALSHA") == 1);
}

TEST_CASE("a client repeats a script that the node forgets while commands are on their way",
          "[core]")
{
    running_world w;
    core::lease& l = w.lock("r");
    w.set_ways(1ms, 1ms);
    call& e = w.extend(l, 20s);
    call& r = w.release(l);
    w.flush_scripts();
    w.advance(10ms);
    CHECK(e.done());
    CHECK(r.released == release_result::released);
    CHECK(w.keys() == 0);
    CHECK(w.is_idle());
}

TEST_CASE("a client finds out by asking whether a node has its own compare-and-delete", "[core]")
{
    const bool valkey = GENERATE(false, true);
    bench_world w;
    for (auto& p : w.peers) {
        (valkey ? p->master.has_delifeq : p->master.has_delex) = true;
    }
    w.start();
    core::lease& l = w.lock("r");
    const std::string token{l.token.view()};
    CHECK(w.release(l).released == release_result::released);
    CHECK(w.keys() == 0);
    const words wanted = valkey ? words{"DELIFEQ", "r", token} : words{"DELEX", "r", "IFEQ", token};
    CHECK(w.peers[0]->log.back() == wanted);

    SECTION("and uses the script if the node forbids the command")
    {
        for (auto& p : w.peers) {
            p->master.refusals[wanted[0]] = "NOPERM User x has no permissions to run this command";
        }
        core::lease& second = w.lock("r");
        CHECK(w.release(second).released == release_result::released);
        CHECK(w.keys() == 0);
        const std::size_t tried = w.count(0, wanted[0]);
        core::lease& third = w.lock("r");
        CHECK(w.release(third).released == release_result::released);
        CHECK(w.count(0, wanted[0]) == tried);
        CHECK(w.is_idle());
    }
}

TEST_CASE("a replica that accepts writes has no vote until it is promoted", "[core]")
{
    const auto role = GENERATE(as<std::string>{}, "replica", "slave");
    const bool knows_hello = GENERATE(true, false);
    CAPTURE(role, knows_hello);
    bench_world w{1};
    model_master& node = w.peers[0]->master;
    node.role = role;
    node.knows_hello = knows_hello;
    w.start();
    CHECK(w.ready() == 0);
    CHECK(w.why_unused() == "is a replica, not a master");
    CHECK(w.log_lines == std::vector<std::string>{
                             "redis://10.0.0.1:6379/0 is out of use: is a replica, not a master"});
    CHECK(w.log_levels.at(0) == log_level::error);
    CHECK(node.sets == 0);
    node.role = "master";
    w.advance(w.settings.reconnect_backoff_max + 1s);
    CHECK(w.ready() == 1);
}

namespace {

void permit_neither_hello_nor_info(model_master& node)
{
    node.refusals["HELLO"] = "NOPERM User x has no permissions to run the 'hello' command";
    node.refusals["INFO"] = "NOPERM User x has no permissions to run the 'info' command";
}

}  // namespace

TEST_CASE("p48: a client asks a node for its role by ROLE if it forbids HELLO and INFO",
          "[core][pitfall][p48]")
{
    const auto [role, why] = GENERATE(table<std::string, std::string>(
        {{"slave", "is a replica, not a master"},
         {"sentinel", "has the role 'sentinel', and only a master has a vote"}}));
    bench_world w{1};
    model_master& node = w.peers[0]->master;
    node.role = role;
    permit_neither_hello_nor_info(node);
    w.start();
    CHECK(w.ready() == 0);
    CHECK(w.why_unused() == why);
    CHECK(node.sets == 0);
    node.role = "master";
    w.advance(w.settings.reconnect_backoff_max + 1s);
    REQUIRE(w.ready() == 1);
    w.drop(w.lock("r"));

    const auto before = w.role_queries(0);
    w.advance(5s);
    CHECK(w.role_queries(0) == before + 1);
    CHECK(w.ready() == 1);
    node.role = role;
    w.advance(5s);
    CHECK(w.ready() == 0);
    CHECK(w.log_lines.back().ends_with(why));
}

TEST_CASE("a client asks no further role of a node that forbids HELLO and INFO and ROLE", "[core]")
{
    bench_world w{1};
    model_master& node = w.peers[0]->master;
    node.role = "slave";
    permit_neither_hello_nor_info(node);
    node.refusals["ROLE"] = "NOPERM User x has no permissions to run the 'role' command";
    node.refusals["SET"] = "READONLY You can't write against a read only replica.";
    w.start();
    CHECK(w.ready() == 1);
    CHECK(w.why_unused() == node.refusals["SET"]);
    CHECK(w.role_queries(0) == 0);
}

TEST_CASE("a probe key of another type shows that the node can release", "[core]")
{
    const bool is_script_permitted = GENERATE(true, false);
    bench_world w{1};
    model_master& node = w.peers[0]->master;
    node.has_delifeq = true;
    node.put("redlock:probe", {.value = {}, .end = {}, .foreign_kind = true});
    if (!is_script_permitted) {
        node.refusals["EVALSHA"] = node.refusals["EVAL"] = "NOPERM no permissions to run it";
    }
    w.start();
    CHECK(w.ready() == 1);
    CHECK(w.log_lines.empty());
}

TEST_CASE("a client refuses a cluster node or a sentinel and names it", "[core]")
{
    const auto [mode, why] = GENERATE(table<std::string, std::string>(
        {{"cluster", "is a node of a cluster, not an independent master"},
         {"sentinel", "is a sentinel, not a master"}}));
    const auto how = GENERATE(as<std::string>{}, "RESP3", "RESP2", "redis_mode", "server_mode");
    CAPTURE(mode, how);
    greeting_world w;
    if (how == "RESP3") {
        w.answer(0, "%2\r\n+proto\r\n:3\r\n+mode\r\n+" + mode + "\r\n");
    } else if (how == "RESP2") {
        w.answer(0, "*4\r\n+proto\r\n:2\r\n+mode\r\n+" + mode + "\r\n");
    } else {
        w.answer(0, "-ERR unknown command `HELLO`\r\n");
        while (!w.pending(0).empty() && w.pending(0).front() != "INFO") {
            w.answer(0, w.pending(0).front() == "COMMAND" ? "*2\r\n*-1\r\n*-1\r\n" : no);
        }
        REQUIRE(w.pending(0) == std::vector<std::string>{"INFO", "INFO"});
        const std::string info = "# Server\r\n" + how + ":" + mode + "\r\n";
        w.answer(0, "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n");
    }
    CHECK(w.peers[0]->closes == 1);
    REQUIRE(w.log_lines.size() == 1);
    CHECK(w.log_lines[0] == "redis://10.0.0.1:6379/0 is out of use: " + why);
    CHECK(w.log_levels[0] == log_level::error);
    CHECK(w.why_unused() == why);

    // An operator has fixed the node.
    w.peers[0]->manual_handshake = false;
    w.advance(10s);
    CHECK(w.ready() == 1);
}

TEST_CASE("a client uses the older greeting if HELLO gets an unexpected reply", "[core]")
{
    for (const std::string_view reply :
         {"+OK\r\n", ":1\r\n", "$-1\r\n", "*0\r\n", "%0\r\n", "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
          "%1\r\n+proto\r\n$1\r\n3\r\n", "%1\r\n+proto\r\n_\r\n", "~2\r\n+proto\r\n:3\r\n"}) {
        CAPTURE(reply);
        bench_world w{1, with_password()};
        w.peers[0]->master.password = secret;
        w.peers[0]->manual_handshake = true;
        w.start();
        w.peers[0]->manual_handshake = false;
        w.answer(0, reply);
        CHECK(w.peers[0]->closes == 0);
        CHECK(w.peers[0]->speaks.protocol == 2);
        CHECK(w.ready() == 1);
    }
}

TEST_CASE("a client does not use a node whose reply fits no command of the handshake", "[core]")
{
    const auto [asked, reply, why] = GENERATE(table<std::string, std::string, std::string>(
        {{"EVALSHA", "+OK\r\n", "the answer to a trial release is not valid"},
         {"EVALSHA", ":2\r\n", "the answer to a trial release is not valid"},
         {"EVALSHA", "_\r\n", "the answer to a trial release is not valid"},
         {"EVALSHA", "*1\r\n:0\r\n", "the answer to a trial release is not valid"},
         {"INFO", ":1\r\n", "the answer to INFO is not valid"},
         {"INFO", "*1\r\n$4\r\nINFO\r\n", "the answer to INFO is not valid"},
         {"ROLE", "+OK\r\n", "the answer to ROLE is not valid"},
         {"ROLE", "*0\r\n", "the answer to ROLE is not valid"}}));
    CAPTURE(asked, reply);
    greeting_world w;
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    while (!w.pending(0).empty() && w.pending(0).front() != asked) {
        const std::string name = w.pending(0).front();
        w.answer(0, name == "COMMAND" ? "*2\r\n*-1\r\n*-1\r\n" : name == "INFO" ? nil : no);
    }
    w.answer(0, reply);
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.why_unused() == why);
}

TEST_CASE("a client treats a connection that echoes its own bytes as one to no node", "[core]")
{
    config c;
    c.client_name = GENERATE("", "proto");
    base::settings s = base::make_settings([&] {
        c.nodes = node_urls(1);
        return c;
    }());
    seeded_entropy random{1};
    const instant now = instant{} + 1000s;
    virtual_date date{now};
    core::client_core core(s, random, date);
    core.network().start(now);
    core.network().on_connected(now, 0);
    for (unsigned i = 0; i < 10 && core.network().has_output(0); ++i) {
        const std::string echo = core.network().take_output(0);
        core.network().on_written(0);
        core.network().on_bytes(now, 0, echo);
    }
    CHECK(core.snapshot().nodes_ready == 0);
    CHECK(core.network().take_to_close() == 1);
}

TEST_CASE("a client ends a handshake that does not end", "[core]")
{
    greeting_world w;
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    w.advance(w.settings.connect_timeout - 1ns);
    CHECK(w.peers[0]->closes == 0);
    w.advance(1ns);
    CHECK(w.peers[0]->closes == 1);
}

TEST_CASE("a client uses one of two names of a server and each names the other", "[core]")
{
    bench_world w;
    w.peers[2]->master.run_id = w.peers[1]->master.run_id;
    w.start();
    CHECK(w.ready() == 2);
    REQUIRE(w.log_lines.size() == 1);
    CHECK(w.log_lines[0].find("redis://10.0.0.3:6379/0 is out of use: is the same server as "
                              "redis://10.0.0.2:6379/0") != std::string::npos);
    CHECK(w.log_levels[0] == log_level::error);
    w.with_report = true;
    call& c = w.acquire("r", {.timeout = 0ms, .max_attempts = 1});
    REQUIRE(c.held != nullptr);
    CHECK(c.report.nodes[2].outcome == node_outcome::disconnected);
    CHECK(c.report.nodes[2].error.find("the same server") != std::string::npos);

    // When the first name is gone, this one has the vote.
    w.lose(1);
    w.advance(10s);
    CHECK(w.ready() == 2);
    CHECK(w.acquire("s").held->granted == 0b101);
    // A server without a run id may be any server.
    w.peers[1]->dial = peer::dialling::at_once;
    w.peers[1]->master.refusals["INFO"] = "NOPERM";
    w.advance(10s);
    CHECK(w.ready() == 3);
}

TEST_CASE("an INFO reply that is no text gives no role", "[core]")
{
    const std::string reply = "_\r\n";
    greeting_world w;
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    while (!w.pending(0).empty() && w.pending(0).front() != "INFO") {
        w.answer(0, w.pending(0).front() == "COMMAND" ? "*2\r\n*-1\r\n*-1\r\n" : no);
    }
    w.answer(0, reply);
    w.answer(0, reply);
    REQUIRE(w.pending(0) == std::vector<std::string>{"ROLE"});
    w.answer(0, reply);
    CHECK(w.ready() == 1);
}

TEST_CASE("p50: a client asks INFO for a role that HELLO leaves out", "[core][pitfall][p50]")
{
    greeting_world w;
    w.peers[0]->master.role = "slave";
    w.peers[0]->manual_handshake = false;
    w.answer(0, "%2\r\n+proto\r\n:3\r\n+mode\r\n+standalone\r\n");
    CHECK(w.ready() == 0);
    CHECK(w.why_unused() == "is a replica, not a master");
}

TEST_CASE("a greeting without HELLO has the user only if there is one", "[core]")
{
    config c;
    c.nodes = {GENERATE("redis://somebody:pw@10.0.0.1", "redis://:pw@10.0.0.1")};
    const base::settings s = base::make_settings(c);
    core::handshake talk(s, s.nodes[0]);
    std::string out;
    static_cast<void>(talk.start(out, false));
    const bool has_user = c.nodes[0].find("somebody") != std::string::npos;
    CHECK(out.starts_with(has_user ? "*3\r\n$4\r\nAUTH\r\n$8\r\nsomebody\r\n$2\r\npw\r\n"
                                   : "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n"));
}

TEST_CASE("a replica that refuses AUTH and needs no login has not refused the login", "[core]")
{
    bench_world w{1, with_password()};
    w.peers[0]->master.knows_hello = false;
    w.peers[0]->master.refusals["AUTH"] = "ERR no such thing here";
    w.peers[0]->master.role = "slave";
    w.start();
    call& c = w.acquire("r", {.timeout = 1min});
    w.advance(10s);
    CHECK(w.why_unused().ends_with("is a replica, not a master"));
    CHECK_FALSE(c.done());
    w.peers[0]->master.role = "master";
    w.advance(10s);
    CHECK(c.held != nullptr);
}

TEST_CASE("a server without a password that refuses AUTH is used and reported once", "[core]")
{
    const std::string text = GENERATE(
        "ERR Client sent AUTH, but no password is set",
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
    bench_world w{1, with_password()};
    w.peers[0]->master.knows_hello = false;
    w.peers[0]->master.refusals["AUTH"] = text;
    w.start();
    for (int i = 0; i < 2; ++i) {
        REQUIRE(w.ready() == 1);
        w.drop(w.lock("r"));
        w.close(0);
        w.advance(3s);
    }
    const std::string said =
        "redis://10.0.0.1:6379/0 refuses AUTH and needs no login: it may have no password";
    CHECK(std::count(w.log_lines.begin(), w.log_lines.end(), said) == 1);
    CHECK_FALSE(says_somewhere(w, secret));
}

TEST_CASE("the reason of a refused greeting says what is missing", "[core]")
{
    struct row {
        const char* answer;
        const char* reason;
    };
    const row r = GENERATE(
        row{"-NOAUTH HELLO must be called with the client already authenticated\r\n",
            "the server wants a login (NOAUTH)"},
        row{"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
            "the server refused user and password (WRONGPASS)"},
        row{"-DENIED Redis is running in protected mode because protected mode is enabled and no "
            "password is set for the default user.\r\n",
            "the server has no password, and accepts only clients on its own machine (DENIED)"});
    greeting_world w;
    w.answer(0, r.answer);
    CHECK(w.why_unused() == r.reason);
}

TEST_CASE("an unknown refusal of the login ends an acquire whatever the server does next", "[core]")
{
    const bool closes = GENERATE(false, true);
    bench_world w{1, with_password()};
    w.peers[0]->manual_handshake = true;
    const auto refuse = [&] {
        REQUIRE(w.pending(0) == std::vector<std::string>{"HELLO"});
        w.answer(0, "-ERR unknown command 'HELLO'\r\n");
        w.answer(0, "-ERR access denied\r\n");
        if (closes) {
            w.close(0);
        }
        while (!w.pending(0).empty()) {
            w.answer(0, "-ERR not authenticated\r\n");
        }
    };
    w.start();
    refuse();
    CHECK(w.why_unused().ends_with(", after it refused user and password"));
    w.advance(1s);
    call& c = w.acquire("r", {.timeout = 1min});
    CHECK_FALSE(c.done());
    refuse();
    CHECK(c.error == errc::unavailable);
}

TEST_CASE("a client sends no older greeting to a server that refuses it or is not ready", "[core]")
{
    const std::string text = GENERATE(
        "WRONGPASS invalid username-password pair", "DENIED protected", "LOADING Redis is loading",
        "BUSY running a script", "TRYAGAIN later", "MASTERDOWN Link with MASTER is down");
    greeting_world w{with_password()};
    w.send(0, "-" + text + "\r\n");
    CHECK(w.peers[0]->closes == 1);
    CHECK(w.why_unused().find(text.substr(0, text.find(' '))) != std::string::npos);
}

TEST_CASE("p50: a client names an unknown role or mode and gives the node no vote",
          "[core][pitfall][p50]")
{
    struct row {
        const char* role;
        const char* mode;
        const char* trouble;
    };
    const row r = GENERATE(
        row{"active-replica", "standalone",
            "has the role 'active-replica', and only a master has a vote"},
        row{"MASTER", "standalone", "has the role 'MASTER', and only a master has a vote"},
        row{"sentinel", "standalone", "has the role 'sentinel', and only a master has a vote"},
        row{"master", "proxy", "runs in the mode 'proxy', not standalone"},
        row{"master", "cluster", "is a node of a cluster, not an independent master"});
    const bool knows_hello = GENERATE(true, false);
    bench_world w{1};
    model_master& node = w.peers[0]->master;
    node.role = r.role;
    node.mode = r.mode;
    node.knows_hello = knows_hello;
    w.start();
    CHECK(w.ready() == 0);
    CHECK(w.why_unused() == r.trouble);
    CHECK(node.sets == 0);
}

TEST_CASE("a server that closes at HELLO gets a greeting without it", "[core]")
{
    // Some proxies refuse the command before they close.
    const auto answer =
        GENERATE(as<std::string>{}, "", "-ERR unknown command 'HELLO'\r\n", "+OK\r\n");
    bench_world w{1, with_password()};
    model_master& node = w.peers[0]->master;
    node.password = secret;
    w.peers[0]->manual_handshake = true;
    w.start();
    // The server may be stopping the first two times.
    for (int i = 0; i < 2; ++i) {
        REQUIRE(w.pending(0) == std::vector<std::string>{"HELLO"});
        if (!answer.empty()) {
            w.answer(0, answer);
        }
        w.close(0);
        CHECK(w.ready() == 0);
        w.advance(1s);
    }
    REQUIRE(w.pending(0).front() == "AUTH");
    w.close(0);
    // The client keeps trying both, as the server may be fixed by now.
    w.advance(2s);
    REQUIRE(w.pending(0) == std::vector<std::string>{"HELLO"});
    w.close(0);
    w.advance(2s);
    REQUIRE(w.pending(0) == std::vector<std::string>{"HELLO"});
    w.close(0);
    node.knows_hello = false;
    w.peers[0]->manual_handshake = false;
    w.advance(2s);
    REQUIRE(w.ready() == 1);
    CHECK(w.peers[0]->speaks.protocol == 2);
    // After that the client greets the server as usual.
    w.peers[0]->manual_handshake = true;
    w.close(0);
    w.advance(100ms);
    CHECK(w.pending(0) == std::vector<std::string>{"HELLO"});
}

TEST_CASE("a connection that ends in the handshake is reported with its unanswered commands",
          "[core]")
{
    greeting_world w;
    w.answer(0, "%1\r\n+proto\r\n:3\r\n");
    SECTION("the node closes it")
    {
        w.close(0, "End of file");
        CHECK(w.why_unused() ==
              "End of file, with SCRIPT LOAD, COMMAND INFO, EVALSHA, INFO unanswered: a proxy may "
              "not know one of these commands");
    }
    SECTION("the node swallows some commands")
    {
        for (int i = 0; i < 5; ++i) {
            w.answer(0, "$3\r\nsha\r\n");
        }
        w.advance(w.settings.connect_timeout);
        CHECK(w.why_unused() ==
              "no complete handshake within connect_timeout, with COMMAND INFO, EVALSHA, INFO "
              "unanswered");
    }
}

TEST_CASE("the reason names HELLO if a node leaves it unanswered", "[core]")
{
    bench_world w{1};
    w.peers[0]->frozen = true;
    w.start();
    w.advance(w.settings.connect_timeout);
    CHECK(w.why_unused() == "no complete handshake within connect_timeout, with HELLO unanswered");
}

TEST_CASE("a node that closes at HELLO and later at another command gets a line for each", "[core]")
{
    greeting_world w{with_password()};
    for (int i = 0; i < 9; ++i) {
        const std::string first = w.pending(0).front();
        CHECK(first == (i % 3 == 2 ? "AUTH" : "HELLO"));
        if (first == "AUTH") {
            w.answer(0, ok);
        }
        w.close(0);
        while (!w.peers[0]->connected) {
            w.advance(10ms);
        }
    }
    REQUIRE(w.log_lines.size() == 2);
    CHECK(w.log_lines[0].ends_with(
        "it may want TLS, or be a proxy that does not know HELLO or has no server to forward to"));
    CHECK(w.log_lines[1].ends_with(
        ", with CLIENT SETNAME, SCRIPT LOAD, COMMAND INFO, EVALSHA, INFO unanswered: a proxy may "
        "not know one of these commands"));
}

TEST_CASE("the meaning of a cut greeting depends on the transport", "[core]")
{
    struct row {
        const char* url;
        const char* reason;
        const char* hint;
    };
    const row r = GENERATE(
        row{"redis://h", "End of file",
            ", at the greeting: it may want TLS, or be a proxy that does not know HELLO or has no "
            "server to forward to"},
        row{"rediss://h", "stream truncated",
            ", at the greeting: it may be a proxy that does not know HELLO or has no server to "
            "forward to"},
        row{"rediss://h", "TLS: tlsv13 alert certificate required (SSL routines)", ""},
        row{"unix:///s", "End of file",
            ", at the greeting: it may be a proxy that does not know HELLO or has no server to "
            "forward to"});
    CAPTURE(r.url, r.reason);
    config c;
    c.nodes = {r.url};
    greeting_world w{c};
    // Every third greeting leaves HELLO out, and shows no more than the others.
    for (int i = 0; i < 9; ++i) {
        CHECK(w.pending(0).front() == (i % 3 == 2 ? "CLIENT" : "HELLO"));
        w.close(0, r.reason);
        CHECK(w.why_unused() == std::string(r.reason) + r.hint);
        while (!w.peers[0]->connected) {
            w.advance(10ms);
        }
    }
    CHECK(w.log_lines.size() == 1);
}

TEST_CASE("a TLS failure after cut greetings replaces their reason", "[core]")
{
    config c;
    c.nodes = {"rediss://h"};
    greeting_world w{c};
    for (const char* const reason :
         {"stream truncated", "stream truncated", "stream truncated", "TLS: bad certificate"}) {
        w.close(0, reason);
        CHECK(w.why_unused().starts_with(reason));
        while (!w.peers[0]->connected) {
            w.advance(10ms);
        }
    }
}

TEST_CASE("a first answer that is no reply is reported with a guess about the server", "[core]")
{
    const auto [url, hint] = GENERATE(table<std::string, std::string>(
        {{"redis://h", ", at the greeting: it may want TLS, or speak another protocol"},
         {"rediss://h", ", at the greeting: it may speak another protocol"},
         {"unix:///s", ", at the greeting: it may speak another protocol"}}));
    config c;
    c.nodes = {url};
    greeting_world w{c};
    SECTION("at the greeting")
    {
        w.send(0, "HTTP/1.1 400 Bad Request\r\n");
        CHECK(w.why_unused().starts_with("sent what is not a reply: "));
        CHECK(w.why_unused().ends_with(hint));
    }
    SECTION("but not later in the connection")
    {
        w.answer(0, "%1\r\n+proto\r\n:3\r\n");
        w.answer(0, "$3\r\nsha\r\n");
        w.send(0, "HTTP/1.1 400 Bad Request\r\n");
        CHECK(w.why_unused().find("at the greeting") == std::string::npos);
    }
}

TEST_CASE("a client greets with HELLO again after a failed connect", "[core]")
{
    greeting_world w;
    for (int i = 0; i < 2; ++i) {
        REQUIRE(w.pending(0) == std::vector<std::string>{"HELLO"});
        w.peers[0]->dial = i == 0 ? peer::dialling::at_once : peer::dialling::refused;
        w.close(0);
        CHECK(says_somewhere(w,
                             ", at the greeting: it may want TLS, or be a proxy that does not "
                             "know HELLO or has no server to forward to"));
        w.advance(2s);
    }
    // Without that failure this third greeting in a row would leave HELLO out.
    w.peers[0]->dial = peer::dialling::at_once;
    for (int i = 0; i < 100 && !w.peers[0]->connected; ++i) {
        w.advance(100ms);
    }
    CHECK(w.pending(0) == std::vector<std::string>{"HELLO"});
}

TEST_CASE("a client logs that another server is at the same address", "[core]")
{
    running_world w{1};
    w.close(0);
    w.advance(3s);
    CHECK_FALSE(says_somewhere(w, "another server"));
    w.peers[0]->master.run_id = std::string(40, 'e');
    w.close(0);
    w.advance(3s);
    CHECK(w.ready() == 1);
    CHECK(says_somewhere(w, "is another server than before, or was restarted"));
    const auto line = std::find_if(w.log_lines.begin(), w.log_lines.end(), [](const auto& text) {
        return text.find("is another server than before") != text.npos;
    });
    REQUIRE(line != w.log_lines.end());
    CHECK(w.log_levels[static_cast<std::size_t>(line - w.log_lines.begin())] == log_level::warning);
}
