#include "support/run.hpp"
#include "cli/command.hpp"
#include "resp/scripts.hpp"
#include "support/certificates.hpp"
#include "support/proxy.hpp"
#include "support/resp_text.hpp"
#include "support/sanitizers.hpp"
#include "support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <boost/asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace redlock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a run passes the lock to its command and ends with the command's status", "[run]")
{
    const masters nodes(3);
    const auto [status, text] = run(
        nodes, {"run", "job", "--", "sh", "-c",
                "echo \"$REDLOCK_RESOURCE/$REDLOCK_FENCING_TOKEN/$REDLOCK_VALID_UNTIL/$1\"; exit 7",
                "name", "--ttl"});
    CAPTURE(text);
    CHECK(status == 7);
    const auto first = text.find('/');
    const auto second = text.find('/', first + 1);
    const auto third = text.find('/', second + 1);
    REQUIRE(third != std::string::npos);
    CHECK(text.substr(0, first) == "job");
    CHECK(std::stoull(text.substr(first + 1)) > 1'000'000'000'000'000);
    CHECK(std::stod(text.substr(second + 1)) > 1e9);
    CHECK(text.substr(third) == "/--ttl\n");
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("the lock is held on every node while the command runs", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    command one(nodes, {"run", brief_option, "job", "--", "sh", "-c",
                        "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done; echo done",
                        (folder / "go").string()});
    REQUIRE(one.says("begun"));
    CHECK(nodes.count("job") >= 2);
    // Longer than the ttl, so the run renews the lock at least once.
    const auto long_after = std::chrono::steady_clock::now() + brief_ttl * 5 / 4;
    bool held = true;
    CHECK(wait_for([&] {
        held = held && nodes.count("job") >= 2;
        return std::chrono::steady_clock::now() > long_after;
    }));
    CHECK(held);
    const auto other = run(nodes, {"run", "--no-wait", "job", "--", "true"});
    CHECK(other.status == 75);
    CHECK_THAT(other.text, ContainsSubstring("The resource is locked by sh (pid"));
    process touch("/usr/bin/touch", {(folder / "go").string()});
    CHECK(touch.wait() == 0);
    CHECK(one.end().status == 0);
    CHECK(nodes.count("job") == 0);
}

/// Whether each node has a connection of a command.
static bool have_connections(const masters& nodes)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto clients = nodes[i].command({"CLIENT", "LIST"});
        if (clients.find("name=redlock-command") == clients.npos) {
            return false;
        }
    }
    return true;
}

TEST_CASE("a run keeps its lock when the password in its file changes", "[run]")
{
    server_options locked;
    locked.password = "open sesame";
    masters nodes(3, locked);
    const temp_dir folder;
    const auto file = (folder / "password").string();
    std::ofstream(file) << "open sesame\n";
    command one(nodes, {"run", "--ttl", "1h", "--password-file", file, "-v", "job", "--", "sh",
                        "-c", "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done",
                        (folder / "go").string()});
    REQUIRE(one.says("begun"));
    REQUIRE(nodes.count("job") >= 2);
    // The servers change first, and the file later.
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].command({"CONFIG", "SET", "requirepass", "close sesame"});
        nodes[i].options().password = "close sesame";
        nodes[i].command({"CLIENT", "KILL", "TYPE", "normal"});
    }
    CHECK(one.says("WRONGPASS"));
    std::filesystem::remove(file);
    const std::string missing = "redlock: warning: --password-file: " + file +
                                ": No such file or directory; redlock uses the password from "
                                "before\n";
    CHECK(one.says(missing));
    std::ofstream(folder / "fresh") << "close sesame\n";
    std::filesystem::rename(folder / "fresh", file);
    CHECK(wait_for([&] { return have_connections(nodes); }));
    std::ofstream(folder / "go").flush();
    const auto [status, text] = one.end();
    CHECK(status == 0);
    CHECK(nodes.count("job") == 0);
    CHECK(text.find("sesame") == text.npos);
    CHECK(text.find(missing) == text.rfind(missing));
}

TEST_CASE("a run whose password file is gone logs in again with the password from before", "[run]")
{
    server_options locked;
    locked.password = "open sesame";
    const masters nodes(3, locked);
    const temp_dir folder;
    const auto file = (folder / "password").string();
    std::ofstream(file) << "open sesame\n";
    command one(nodes, {"run", "--ttl", "1h", "--password-file", file, "job", "--", "sh", "-c",
                        "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done",
                        (folder / "go").string()});
    REQUIRE(one.says("begun"));
    std::filesystem::remove(file);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].command({"CLIENT", "KILL", "TYPE", "normal"});
    }
    CHECK(one.says("redlock uses the password from before\n"));
    CHECK(wait_for([&] { return have_connections(nodes); }));
    std::ofstream(folder / "go").flush();
    CHECK(one.end().status == 0);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a run that waits starts its command as soon as the lock is free", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto go = (folder / "go").string();
    command first(nodes, {"run", "job", "--", "sh", "-c",
                          "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done", go});
    REQUIRE(first.says("begun"));
    command second(nodes, {"run", "job", "--", "echo", "mine"});
    // On a busy machine the command may have connected to no majority when its wait ends.
    int status_of_impatient = 69;
    REQUIRE(wait_for([&] {
        status_of_impatient = run(nodes, {"run", "--wait", "300ms", "job", "--", "true"}).status;
        return status_of_impatient != 69;
    }));
    CHECK(status_of_impatient == 75);
    process touch("/usr/bin/touch", {go});
    CHECK(touch.wait() == 0);
    CHECK(first.end().status == 0);
    const auto [status, text] = second.end();
    CHECK(status == 0);
    CHECK(text.ends_with("mine\n"));
}

TEST_CASE("a run that waits says so once and names the holder", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto go = (folder / "go").string();
    command first(nodes, {"run", "--ttl", "1h", "job", "--", "sh", "-c",
                          "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done", go});
    REQUIRE(first.says("begun"));
    const bool json = GENERATE(false, true);
    std::vector<std::string> arguments{"run", "job", "--", "true"};
    if (json) {
        arguments.insert(arguments.begin(), "--json");
    }
    command second(nodes, arguments);
    const std::string holder = "sh (pid " + std::to_string(first.running().pid()) + " on ";
    REQUIRE(second.says("job: waiting: " + holder));
    REQUIRE(second.says(") has it, for 35"));
    process touch("/usr/bin/touch", {go});
    CHECK(touch.wait() == 0);
    const auto [status, text] = second.end();
    CHECK(status == 0);
    CHECK(text.find("waiting") == text.rfind("waiting"));
    CHECK((text.front() == '{') == json);
}

TEST_CASE("a run that waits names the unavailable nodes too", "[run]")
{
    masters nodes(3);
    nodes[2].kill();
    // If the first second ends during an attempt, the ttl is not yet known.
    bool has_ttl = false;
    for (int i = 0; i < 5 && !has_ttl; ++i) {
        for (std::size_t n = 0; n < 2; ++n) {
            nodes[n].command({"SET", "job", "of another client", "PX", "3600000"});
        }
        command waits(nodes, {"run", "job", "--", "true"});
        REQUIRE(waits.says("job: waiting: another client has it"));
        REQUIRE(waits.says("disconnected: Connection refused"));
        nodes[0].command({"DEL", "job"});
        nodes[1].command({"DEL", "job"});
        const auto [status, text] = waits.end();
        CHECK(status == 0);
        has_ttl = text.find("another client has it, for 35") != std::string::npos;
    }
    CHECK(has_ttl);
}

TEST_CASE("a run that waits for several resources says which node refuses which of them", "[run]")
{
    masters nodes(3);
    REQUIRE(run(nodes, {"acquire", "--label", "nightly backup", "b"}).status == 0);
    nodes[2].kill();
    command waits(nodes, {"run", "a", "b", "--", "true"});
    REQUIRE(waits.says("a, b: waiting: nightly backup has it, for 35"));
    REQUIRE(waits.says("disconnected: Connection refused"));
    CHECK_THAT(waits.text(), ContainsSubstring(", for b\n"));
    nodes[0].command({"DEL", "b"});
    nodes[1].command({"DEL", "b"});
    CHECK(waits.end().status == 0);
}

TEST_CASE("a run that waits makes all its attempts in one acquire", "[run]")
{
    const scripted_server node([](scripted_connection& c) -> boost::asio::awaitable<void> {
        co_await c.serve([](const arguments& command) -> std::optional<std::string> {
            if (command.front() == "SET") {
                return wire::null3();
            }
            if (command.front() == "PTTL") {
                return wire::integer(60'000);
            }
            if (command.size() > 1 && command[1] == redlock::resp::inspect_script.sha1) {
                return wire::aggregate('*', {wire::bulk("of another"), wire::integer(60'000)});
            }
            return obedient(command);
        });
    });
    // The command prints after a second why it waits.
    const auto [status, text] =
        command({"--node", node.url(), "--json", "run", "--wait", "1500ms", "job", "--", "true"})
            .end();
    CAPTURE(text);
    CHECK(status == 75);
    CHECK_THAT(text, ContainsSubstring("waiting: another client has it"));
    const auto last = nlohmann::json::parse(text.substr(text.rfind('{', text.find("attempts"))));
    CHECK(last["attempts"] == node.commands("SET").size());
}

TEST_CASE("a run that waits for a majority of the nodes says so once", "[run]")
{
    masters nodes(3);
    nodes[1].kill();
    nodes[2].kill();
    command waits(nodes, {"run", "job", "--", "true"});
    REQUIRE(waits.says("job: no majority of the nodes yet; redlock tries again\n"));
    nodes[1].start();
    const auto [status, text] = waits.end();
    CHECK(status == 0);
    CHECK(text.find("no majority") == text.rfind("no majority"));
}

TEST_CASE("a run that waits for silent nodes says so before it gives up on them", "[run]")
{
    masters nodes(3);
    nodes[1].stop();
    nodes[2].stop();
    command waits(nodes, {"run", "--connect-timeout", "1h", "job", "--", "true"});
    REQUIRE(waits.says("job: no majority of the nodes yet; redlock tries again\n"));
    REQUIRE(waits.says("disconnected: connected, but the handshake is not complete yet\n"));
    nodes[1].cont();
    const auto [status, text] = waits.end();
    nodes[2].cont();
    CHECK(status == 0);
    CHECK(text.find("no majority") == text.rfind("no majority"));
}

TEST_CASE("a nested run escapes the name of its lock once", "[run]")
{
    const masters nodes(3);
    const auto [status, text] =
        run(nodes, {"run", "a\\b", "--", REDLOCK_COMMAND, "run", "a\\b", "--", "true"});
    CHECK(status == 64);
    CHECK_THAT(text, ContainsSubstring("redlock: a\\\\b: this command runs under that lock"));
}

TEST_CASE("a run warns of TLS files that it cannot load again and of another server", "[run][tls]")
{
    const certificates world;
    masters nodes(
        1, {.tls = server_tls{world.ca.certificate, world.server.certificate, world.server.key}});
    const temp_dir folder;
    const auto ca = folder / "ca.pem";
    std::filesystem::copy_file(world.ca.certificate, ca);
    command one({"run", "--node", nodes[0].tls_url(), "--ca-file", ca.string(), "--ttl", "1h",
                 "job", "--", "sh", "-c", "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done",
                 (folder / "go").string()});
    REQUIRE(one.says("begun"));
    std::filesystem::resize_file(ca, 100);
    nodes[0].restart();
    CHECK(
        one.says("TLS files have changed and can't be loaded; the client still uses the ones from "
                 "before: "));
    CHECK(one.says("/0 is another server than before, or was restarted\n"));
    std::ofstream(folder / "go").flush();
    (void)one.end();
}

TEST_CASE("a run that waits for a key without a ttl says that it never ends and what to do",
          "[run]")
{
    masters nodes(3);
    const bool is_shared = GENERATE(false, true);
    CAPTURE(is_shared);
    nodes[0].command({"SET", "job", "of one program"});
    nodes[1].command({"SET", "job", is_shared ? "of one program" : "of another"});
    nodes[2].command({"SET", "job", "of a third", "PX", "60000"});
    command waits(nodes, {"run", "job", "--", "true"});
    REQUIRE(
        waits.says("job: waiting: another client has it, without an end: its key has no ttl, so "
                   "no client of redlock wrote it; if the key is data, choose another name"));
    nodes[0].command({"DEL", "job"});
    nodes[1].command({"DEL", "job"});
    CHECK(waits.end().status == 0);
}

TEST_CASE("a run within a run under the same lock says so at once", "[run]")
{
    const masters nodes(3);
    // Runs redlock in a shell of the command, by the name of that shell's parent.
    const auto inside = [&](const std::string& outer, const std::string& script) {
        return run(nodes, {"run", outer, "--", "sh", "-c", "me=/proc/$PPID/exe; " + script});
    };
    SECTION("the inner run would wait for itself")
    {
        const auto [status, text] = inside("job", "$me run job -- echo begun");
        CHECK(status == 64);
        CHECK(text ==
              "redlock: job: this command runs under that lock already, so it cannot acquire the "
              "lock "
              "again; --nested runs the command under it\n");
    }
    SECTION("at any depth")
    {
        const auto [status, text] = inside(
            "job", "$me run other -- sh -c '/proc/$PPID/exe run job --no-wait -- echo begun'");
        CHECK(status == 64);
        CHECK_THAT(text, ContainsSubstring("under that lock already"));
    }
    SECTION("with --nested the command runs under the outer lock")
    {
        const auto [status, text] =
            inside("job", "$me run job --nested -- sh -c 'echo in; exit 3'");
        CHECK(status == 3);
        CHECK(text == "in\n");
        CHECK(inside("job", "$me run job --nested -- /no/such").status == 127);
        CHECK(run(nodes, {"run", "job", "--nested", "--", "true"}).status == 0);
        CHECK(nodes.count("job") == 0);
    }
    SECTION("with --nested the command gets the data of its lock and no secret")
    {
        const std::string show =
            "sh -c 'echo $REDLOCK_RESOURCE $REDLOCK_FENCING_TOKEN "
            "$REDLOCK_VALID_UNTIL $REDLOCK_OWNER_TOKEN'";
        const auto own = run(nodes, {"run", "job", "--", "sh", "-c",
                                     "me=/proc/$PPID/exe; echo $REDLOCK_RESOURCE "
                                     "$REDLOCK_FENCING_TOKEN $REDLOCK_VALID_UNTIL; "
                                     "export REDLOCK_OWNER_TOKEN=hidden; "

                                     "$me run other -- $me run job --nested -- " +
                                         show});
        CAPTURE(own.text);
        std::istringstream lines(own.text);
        std::string outer;
        std::string nested;
        REQUIRE(std::getline(lines, outer));
        while (std::getline(lines, nested) && !nested.starts_with("job ")) {
        }
        const auto end_of = [](std::string& line) {
            const auto last = line.rfind(' ') + 1;
            const double end = std::stod(line.substr(last));
            line.resize(last);
            return end;
        };
        // Each process computes the end from its own wall clock. A renewal of the outer run by
        // 30 s only delays it.
        const double earlier = end_of(outer);
        const double later = end_of(nested);
        CHECK(later > earlier - 1);
        CHECK(later < earlier + 30);
        CHECK(nested == outer);
    }
    SECTION("with --nested no command starts under a lost lock")
    {
        command outer(nodes, {"run", brief_option, "--grace", "1h", "job", "--", "sh", "-c",
                              "me=/proc/$PPID/exe; trap 'told=1' TERM; echo begun; "
                              "until [ -n \"$told\" ]; do sleep 0.05; done; "
                              "$me run job --nested -- echo inside; echo status=$?"});
        REQUIRE(outer.says("begun"));
        nodes.flush();
        const auto [status, text] = outer.end();
        CHECK(status == 76);
        CHECK_THAT(text,
                   ContainsSubstring(
                       "job: the outer redlock run (pid " + std::to_string(outer.running().pid()) +
                       ") no longer holds this lock: it lost or released the lock, or did not "
                       "renew it in time; redlock did not start the command\n"));
        CHECK_THAT(text, ContainsSubstring("status=76"));
        CHECK(text.find("inside") == text.npos);
    }
    SECTION("acquire would wait for itself too")
    {
        const auto [status, text] = inside("job", "$me acquire job");
        CHECK(status == 64);
        CHECK(text ==
              "redlock: job: this command runs under that lock already, so it cannot acquire the "
              "lock again; the outer redlock run holds it until its command ends\n");
        CHECK(inside("job", "$me acquire --quiet other >/dev/null").status == 0);
    }
    SECTION("one of several resources is enough")
    {
        const auto [status, text] = inside("job", "$me run job other --nested -- echo begun");
        CHECK(status == 64);
        CHECK_THAT(text, ContainsSubstring("one of these locks already"));
    }
    SECTION("other keys are other locks")
    {
        CHECK(inside("job", "$me run job2 -- true").status == 0);
        CHECK(inside("job", "$me --key-prefix p: run job -- true").status == 0);
    }
    SECTION("a process that outlives the run is not inside it")
    {
        const temp_dir folder;
        const auto out = (folder / "out").string();
        const auto copy = (folder / "redlock").string();
        CHECK(inside("job", "cp $me " + copy +
                                "; (while [ -e /proc/$PPID ]; do sleep 0.05; done; " + copy +
                                " run job -- touch " + out + ") >/dev/null 2>&1 &")
                  .status == 0);
        CHECK(wait_for([&] { return std::filesystem::exists(out); }));
    }
}

namespace {

/// A shell starts a process and then becomes redlock, whose command ends with 5 on request. The
/// process has a session of its own, since the test ends the process group of redlock with redlock.
class run_with_elder_child {
public:
    explicit run_with_elder_child(const masters& nodes)
        : process_("/usr/bin/env",
                   {"bash", "-c",
                    "setsid sleep 1000 >/dev/null 2>&1 & echo pid=$!; exec \"$REDLOCK\" run job -- "
                    "sh -c 'echo begun; until [ -e \"$0\" ]; do sleep 0.05; done; exit 5' \"$0\"",
                    (folder_ / "go").string()},
                   {folder_ / "out",
                    {},
                    {own_options(folder_), nodes_variable(nodes.urls()),
                     std::string("REDLOCK=") + REDLOCK_COMMAND}})
    {
        REQUIRE(wait_for([&] { return text().find("begun") != std::string::npos; }));
        child_ = std::stoi(text().substr(text().find("pid=") + 4));
    }
    run_with_elder_child(const run_with_elder_child&) = delete;
    run_with_elder_child& operator=(const run_with_elder_child&) = delete;
    ~run_with_elder_child() { static_cast<void>(kill_child()); }

    /// Whether the process runs. Not every init reaps an orphan that has ended.
    [[nodiscard]] bool has_child() const
    {
        const std::string stat = text_of("/proc/" + std::to_string(child_) + "/stat");
        return !stat.empty() && stat.find(") Z") == std::string::npos;
    }
    bool kill_child() noexcept
    {
        const int child = std::exchange(child_, 0);
        return child != 0 && ::kill(child, SIGKILL) == 0;
    }
    [[nodiscard]] process& running() noexcept { return process_; }
    [[nodiscard]] int child() const noexcept { return child_; }
    [[nodiscard]] std::string text() const { return text_of(folder_ / "out"); }
    /// The status of redlock.
    [[nodiscard]] int let_go()
    {
        std::ofstream(folder_ / "go") << "go";
        return process_.wait();
    }

private:
    temp_dir folder_;
    process process_;
    int child_ = 0;
};

}  // namespace

TEST_CASE("a run neither signals nor names processes from before its command", "[run]")
{
    const masters nodes(3);
    run_with_elder_child one(nodes);
    const bool is_told = GENERATE(false, true);
    if (is_told) {
        ::kill(one.running().pid(), SIGTERM);
        CHECK(one.running().wait() == 128 + SIGTERM);
    } else {
        CHECK(one.let_go() == 5);
    }
    const std::string pid = std::to_string(one.child());
    // The script itself prints the pid.
    const std::string text = std::regex_replace(one.text(), std::regex("pid=" + pid + "\n"), "");
    CHECK(text.find("still run") == std::string::npos);
    CHECK_FALSE(std::regex_search(text, std::regex("\\b" + pid + "\\b")));
    CHECK(one.has_child());
}

TEST_CASE("a process from before the command does not end the run when it ends", "[run]")
{
    const masters nodes(3);
    run_with_elder_child one(nodes);
    const int child = one.child();
    REQUIRE(one.kill_child());
    // Once the process is gone, redlock, its parent, has heard of its end.
    REQUIRE(wait_for([&] { return ::kill(child, 0) != 0; }));
    CHECK(one.running().running());
    CHECK(nodes.count("job") >= 2);
    CHECK(one.let_go() == 5);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a run names the processes that its command leaves running", "[run]")
{
    const masters nodes(3);
    const auto [status, text] =
        run(nodes, {"run", "job", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo pid=$!"});
    CHECK(status == 0);
    const auto pid = std::stoi(text.substr(text.find("pid=") + 4));
    CHECK_THAT(text,
               ContainsSubstring(
                   "job: the command has ended, and its processes still run without the lock: " +
                   std::to_string(pid) + " (sleep)"));
    CHECK(nodes.count("job") == 0);
    CHECK(::kill(pid, SIGKILL) == 0);
    CHECK(run(nodes, {"run", "job", "--", "sh", "-c", "sleep 0.01 & wait"}).text.empty());
}

TEST_CASE("a run holds the lock for --min-hold even if the command ends sooner", "[run]")
{
    const masters nodes(3);
    command one(nodes, {"run", "--min-hold", "1h", "job", "--", "sh", "-c", "exit 4"});
    REQUIRE(one.says("redlock: job: the command has ended; redlock keeps the lock for another 3"));
    REQUIRE(one.says(" s (--min-hold)\n"));
    CHECK(run(nodes, {"run", "--no-wait", "job", "--", "true"}).status == 75);
    SECTION("unless it is interrupted")
    {
        ::kill(one.running().pid(), SIGTERM);
        const auto [status, text] = one.end();
        CHECK(status == 4);
        CHECK_THAT(text, ContainsSubstring("job: the command has ended, and the lock is released "
                                           "before --min-hold has passed"));
        CHECK(nodes.count("job") == 0);
    }
    SECTION("unless the lock is lost")
    {
        nodes.flush();
        const auto [status, text] = one.end();
        CHECK(status == 4);
        CHECK_THAT(text, ContainsSubstring("job: the command has ended, and the lock was lost "
                                           "before --min-hold has passed"));
    }
}

TEST_CASE("a run with --min-hold releases the lock after that time", "[run]")
{
    const masters nodes(3);
    CHECK(run(nodes, {"run", "--min-hold", "200ms", "job", "--", "true"}).status == 0);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("the time of --min-hold counts from the start of the attempt that won the lock", "[run]")
{
    const masters nodes(1);
    proxy far(nodes[0].port());
    far.delay(direction::down, std::chrono::seconds(1));
    command one({"--node", far.url(), "--node-timeout", "1m", "run", "--ttl", "1h", "--min-hold",
                 "1h", "job", "--", "true"});
    REQUIRE(one.says(" s (--min-hold)\n"));
    const std::string text = one.text();
    const std::string front = "redlock keeps the lock for another ";
    CHECK(std::stod(text.substr(text.find(front) + front.size())) <= 3599.0);
    ::kill(one.running().pid(), SIGTERM);
    CHECK(one.end().status == 0);
}

TEST_CASE("a run names wrong bounds of a hold", "[run]")
{
    const masters nodes(1);
    const auto complaint = [&](std::vector<std::string> options) {
        options.insert(options.begin(), "run");
        options.insert(options.end(), {"job", "--", "true"});
        const auto [status, text] = run(nodes, options);
        CHECK(status == 64);
        return text;
    };
    CHECK_THAT(complaint({"--max-hold", "1ms"}),
               ContainsSubstring("--max-hold: must be at least four"));
    CHECK(complaint({"--max-hold", "200ms", "--node-timeout", "50ms", "--drift", "0.99"}) ==
          "redlock: --max-hold: 200ms is not longer than its allowance for clock drift, 200ms\n");
    CHECK(complaint({"--max-hold", "200ms", "--node-timeout", "50ms", "--drift", "0.99",
                     "--min-hold", "1s"})
              .starts_with("redlock: --max-hold: 200ms is not longer than"));
    CHECK(complaint({"--ttl", "200ms", "--node-timeout", "50ms", "--drift", "0.99"}) ==
          "redlock: --ttl: 200ms is not longer than its allowance for clock drift, 200ms\n");
    const std::string why =
        " is too long for --max-hold 1m, which clock drift may cut short (--drift): 59397ms at "
        "most\n";
    for (const std::string length : {"2h", "1m", "59398ms"}) {
        CHECK(complaint({"--max-hold", "1m", "--min-hold", length}) ==
              "redlock: --min-hold: " + length + why);
    }
    CHECK(complaint({"--max-hold", "1s", "--node-timeout", "100ms", "--drift", "0", "--min-hold",
                     "998ms"})
              .ends_with("(--drift): 997ms at most\n"));
}

TEST_CASE("a run that loses its lock signals its command and then kills the whole process tree",
          "[run]")
{
    const masters nodes(3);
    SECTION("the command ends on the signal")
    {
        command one(nodes, {"run", brief_option, "job", "--", "sh", "-c",
                            "trap 'echo told; exit 0' TERM; echo begun; "
                            "while :; do sleep 0.05; done"});
        REQUIRE(one.says("begun"));
        nodes.flush();
        const auto [status, text] = one.end();
        CHECK(status == 76);
        CHECK_THAT(text, ContainsSubstring("the lock is lost"));
        CHECK_THAT(text, ContainsSubstring("told"));
        CHECK_THAT(text, ContainsSubstring("redlock: now job: free\n"));
        CHECK_THAT(text, ContainsSubstring("has no key\n"));
        CHECK(text.find("redlock kills") == text.npos);
    }
    SECTION("the command ignores the signal")
    {
        // No process heeds the signal, so each grace ends with a SIGKILL, however short it is.
        command one(nodes, {"run", brief_option, "--grace", "100ms", "job", "--", "sh", "-c",
                            "trap '' TERM; sh -c 'trap \"\" TERM; echo pid=$$; "
                            "while :; do sleep 0.05; done' & echo begun; wait"});
        REQUIRE(one.says("pid="));
        const auto text = one.text();
        const auto grandchild = std::stoi(text.substr(text.find("pid=") + 4));
        nodes.flush();
        const auto end = one.end();
        CHECK(end.status == 76);
        CHECK_THAT(end.text,
                   ContainsSubstring("redlock: job: --grace (100ms) has passed, and redlock kills "
                                     "the processes that still run (SIGKILL)\n"));
        CHECK(end.text.find("redlock kills") == end.text.rfind("redlock kills"));
        CHECK(wait_for([&] { return ::kill(grandchild, 0) != 0; }));
    }
    SECTION("the command ends on the signal but its child does not")
    {
        // The grandchild never heeds the signal, so each grace ends with a SIGKILL.
        command one(nodes, {"run", brief_option, "--grace", "100ms", "job", "--", "sh", "-c",
                            "trap 'exit 0' TERM; setsid sh -c 'trap \"\" TERM; echo pid=$$; "
                            "while :; do sleep 0.05; done' & wait"});
        REQUIRE(one.says("pid="));
        const auto text = one.text();
        const auto grandchild = std::stoi(text.substr(text.find("pid=") + 4));
        nodes.flush();
        const auto end = one.end();
        CHECK(end.status == 76);
        CHECK_THAT(end.text, ContainsSubstring("redlock kills the processes that still run"));
        CHECK(wait_for([&] { return ::kill(grandchild, 0) != 0; }));
    }
    SECTION("redlock itself was stopped")
    {
        command one(nodes,
                    {"run", brief_option, "job", "--", "sh", "-c", "echo begun; sleep 1000"});
        REQUIRE(one.says("begun"));
        REQUIRE(::kill(one.running().pid(), SIGSTOP) == 0);
        REQUIRE(wait_for([&] { return nodes.count("job") == 0; }));
        REQUIRE(::kill(one.running().pid(), SIGCONT) == 0);
        const auto [status, text] = one.end();
        CHECK(status == 76);
        CHECK_THAT(text, ContainsSubstring("redlock sends the command a SIGTERM; redlock did not "
                                           "renew it in time: redlock or its machine was stopped"));
    }
    SECTION("a minority still has its key")
    {
        command one(nodes,
                    {"run", brief_option, "job", "--", "sh", "-c", "echo begun; sleep 1000"});
        REQUIRE(one.says("begun"));
        REQUIRE(nodes.count("job") == nodes.size());
        nodes[0].command({"DEL", "job"});
        nodes[1].command({"DEL", "job"});
        const auto [status, text] = one.end();
        CHECK(status == 76);
        CHECK_THAT(text, ContainsSubstring("has this lock's own key for "));
    }
    SECTION("a majority of the nodes refused the renewal")
    {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            nodes[i].command({"ACL", "SETUSER", "worker", "on", ">sesame", "~*", "+@all"});
        }
        std::vector<std::string> words;
        for (const std::string& url : nodes.urls("worker", "sesame")) {
            words.insert(words.end(), {"--node", url});
        }
        words.insert(words.end(), {"run", brief_option, "job", "--", "sleep", "1000"});
        command one(words);
        const auto permit = [&](const char* what) {
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                nodes[i].command({"ACL", "SETUSER", "worker", what});
            }
        };
        REQUIRE(wait_for([&] { return nodes.count("job") == nodes.size(); }));
        permit("-pexpire");
        REQUIRE(one.says("job: the lock could not be renewed: No majority of the nodes can be "));
        REQUIRE(one.says(
            "; `redlock doctor --resource NAME` names the missing permissions; it ends in "));
        permit("+pexpire");
        REQUIRE(one.says("job: the lock is renewed again\n"));
        permit("-pexpire");
        const auto [status, text] = one.end();
        CHECK(status == 76);
        CHECK_THAT(
            text, ContainsSubstring("redlock sends the command a SIGTERM; the last renewal failed: "
                                    "No majority of the nodes can be used: "));
    }
    SECTION("the lock was held for its maximum time")
    {
        command one(nodes, {"run", brief_option, "--max-hold", "9s", "job", "--", "sleep", "1000"});
        CHECK(one.end().status == 76);
    }
}

TEST_CASE("a run that inspects its nodes after a loss ends when it is interrupted", "[run]")
{
    const auto is_inspection = [](const arguments& command) {
        return command[0].starts_with("EVAL") && command.size() == 4 &&
               !command[3].ends_with(":redlock:queue");
    };
    // The renewal finds no key, and the inspections wait for their node timeouts.
    const scripted_server node([&](scripted_connection& c) -> boost::asio::awaitable<void> {
        co_await c.serve([&](const arguments& command) -> std::optional<std::string> {
            if (is_inspection(command)) {
                return std::nullopt;
            }
            if (command[0].starts_with("EVAL") && command[2] == "3") {
                const bool is_renewal = command.size() == 8;
                const auto zero = wire::integer(0);
                return is_renewal ? zero : wire::aggregate('*', {zero, zero});
            }
            return obedient(command);
        });
    });
    command one({"--node", node.url(), "run", brief_option, "--no-fencing", "--label", "", "a", "b",
                 "c", "--", "sleep", "1000"});
    REQUIRE(one.says("the lock is lost"));
    REQUIRE(wait_for([&] {
        const auto all = node.commands();
        return std::any_of(all.begin(), all.end(), is_inspection);
    }));
    REQUIRE(::kill(one.running().pid(), SIGTERM) == 0);
    const auto [status, text] = one.end();
    CHECK(status == 76);
    // The inspections of all three take three node timeouts.
    CHECK(text.find("now c") == text.npos);
}

TEST_CASE("a run passes signals to its command and the command's children and reports their end",
          "[run]")
{
    const masters nodes(3);
    command one(nodes, {"run", "job", "--", "sh", "-c",
                        "trap 'echo one' USR1; trap 'exit 5' TERM; echo begun; "
                        "while :; do sleep 0.05; done"});
    REQUIRE(one.says("begun"));
    REQUIRE(::kill(one.running().pid(), SIGUSR1) == 0);
    CHECK(one.says("one"));
    REQUIRE(::kill(one.running().pid(), SIGTERM) == 0);
    CHECK(one.end().status == 5);
    CHECK(nodes.count("job") == 0);

    command by_default(nodes, {"run", "job", "--", "sh", "-c", "echo begun; exec sleep 1000"});
    REQUIRE(by_default.says("begun"));
    REQUIRE(::kill(by_default.running().pid(), SIGTERM) == 0);
    CHECK(by_default.end().status == 128 + SIGTERM);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a run that waits for a lock can be interrupted", "[run]")
{
    const masters nodes(3);
    CHECK(run(nodes, {"acquire", "job"}).status == 0);
    command one(nodes, {"--verbose", "run", "job", "--", "echo", "ran"});
    REQUIRE(one.says(": usable"));
    REQUIRE(::kill(one.running().pid(), SIGINT) == 0);
    const auto [status, text] = one.end();
    CHECK(status == 128 + SIGINT);
    CHECK(text.find("ran\n") == std::string::npos);
}

TEST_CASE("a command is killed together with its redlock process", "[run]")
{
    const masters nodes(3);
    command one(nodes,
                {"run", "job", "--", "sh", "-c", "echo pid=$$; while :; do sleep 0.05; done"});
    REQUIRE(one.says("pid="));
    const auto text = one.text();
    const auto child = std::stoi(text.substr(text.find("pid=") + 4));
    // Not through `process`, which kills the group too.
    REQUIRE(::kill(one.running().pid(), SIGKILL) == 0);
    CHECK(wait_for([&] { return ::kill(child, 0) != 0; }));
}

TEST_CASE("a run reports a command that cannot start as a shell does", "[run]")
{
    const masters nodes(3);
    const auto none = run(nodes, {"run", "job", "--", "no-such-program"});
    CHECK(none.status == 127);
    CHECK(none.text == "redlock: no-such-program: No such file or directory\n");
    const auto no_program = run(nodes, {"run", "job", "--", "/etc/passwd"});
    CHECK(no_program.status == 126);
    const auto nothing = run(nodes, {"run", "job"});
    CHECK(nothing.status == 64);
    CHECK_THAT(nothing.text, ContainsSubstring("redlock run RESOURCE -- COMMAND"));
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a run with a maximum hold below the ttl shortens the ttl and says why the lock ends",
          "[run]")
{
    const masters nodes(3);
    const auto [status, text] = run(nodes, {"run", brief_max_hold, "job", "--", "sleep", "1000"});
    CHECK(status == 76);
    CHECK(text ==
          "redlock: job: --max-hold has passed, and the lock ends; redlock sends the command a "
          "SIGTERM\n");
    const auto quick = run(nodes, {"run", "--ttl", "2m", "--max-hold", "1m", "job", "--", "true"});
    CHECK(quick.status == 0);
}

TEST_CASE("a run whose command cannot start reports that first even if the lock is lost too",
          "[run]")
{
    // The release finds no key.
    scripted_server node([](scripted_connection& c) -> boost::asio::awaitable<void> {
        co_await c.serve([](const arguments& command) -> std::optional<std::string> {
            const bool is_release = command.size() == 5 && command[2] == "1" && command[3] == "job";
            return is_release ? wire::integer(0) : obedient(command);
        });
    });
    const auto [status, text] =
        command({"--json", "--node", node.url(), "run", "job", "--", "no-such-program"}).end();
    CHECK(status == 127);
    CHECK(nlohmann::json::parse(text).at("status") == 127);
    const auto others = command({"--node", node.url(), "run", "job", "--", "true"}).end();
    CHECK(others.status == 76);
}

TEST_CASE("a run waits for nobody to read its messages", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    const auto full = (folder / "full").string();
    REQUIRE(::mkfifo(full.c_str(), 0600) == 0);
    const int unread = ::open(full.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(unread >= 0);
    while (::write(unread, "x", 1) == 1) {
    }
    const auto with_full_stderr = [&](std::vector<std::string> arguments) {
        std::vector<std::string> words{"-c", "exec \"$0\" \"$@\" 2>" + full, REDLOCK_COMMAND};
        words.insert(words.end(), arguments.begin(), arguments.end());
        process one("/bin/sh", words,
                    {{}, {}, {own_options(folder), nodes_variable(nodes.urls())}});
        return one.wait();
    };
    CHECK(with_full_stderr({"-v", "run", "job", "--", "sh", "-c", "exit 7"}) == 7);
    const auto held = run(nodes, {"acquire", "--quiet", "job"});
    REQUIRE(held.status == 0);
    CHECK(with_full_stderr({"-v", "run", "--wait", "100ms", "job", "--", "true"}) == 75);
    ::close(unread);
}

// LeakSanitizer needs /proc, also to read the option that would switch it off.
#if !REDLOCK_TEST_ADDRESS_SANITIZER
TEST_CASE("a run that sees no processes still signals its command", "[run]")
{
    const temp_dir folder;
    process probe("/usr/bin/env", {"unshare", "-rm", "mount", "-t", "tmpfs", "none", "/proc"});
    if (probe.wait() != 0) {
        SKIP("this machine lets nobody hide /proc");
    }
    const masters nodes(3);
    const auto without_proc = [&](const std::string& out, const std::string& script) {
        return std::make_unique<process>(
            "/usr/bin/env",
            std::vector<std::string>{
                "unshare", "-rm", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\"",
                REDLOCK_COMMAND, "run", brief_option, "job", "--", "sh", "-c", script},
            process_options{folder / out, {}, {own_options(folder), nodes_variable(nodes.urls())}});
    };
    const auto one = without_proc(
        "out", "trap 'echo got it; exit 3' TERM; echo begun; while :; do sleep 0.05; done");
    REQUIRE(wait_for([&] { return text_of(folder / "out").find("begun") != std::string::npos; }));
    nodes.flush();
    CHECK(one->wait() == 76);
    CHECK_THAT(text_of(folder / "out"), ContainsSubstring("got it"));
    CHECK_THAT(text_of(folder / "out"),
               ContainsSubstring("/proc does not list redlock's own processes"));

    CHECK(without_proc("ended", "sleep 0.01 & exit 0")->wait() == 0);
    CHECK_THAT(text_of(folder / "ended"), !ContainsSubstring("still run"));
    // The command leaves a process that ends with the folder, also after a failed test.
    const std::string left_behind =
        "while [ -e " + (folder / "left").string() + " ]; do sleep 0.05; done & exit 0";
    CHECK(without_proc("left", left_behind)->wait() == 0);
    CHECK_THAT(text_of(folder / "left"),
               ContainsSubstring("still run without the lock: process group"));
}
#endif

TEST_CASE("a run that could not release its first attempt does not blame another holder", "[run]")
{
    const bool may_count = GENERATE(true, false);
    masters nodes(3);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        // A release reads the key, and this user may only write it.
        nodes[i].command({"ACL", "SETUSER", "writer", "on", ">hush-hush", "%W~*", "+@all", "-time",
                          may_count ? "+time" : "-incr"});
    }
    std::vector<std::string> arguments;
    for (const auto& url : nodes.urls("writer", "hush-hush")) {
        arguments.insert(arguments.end(), {"--node", url});
    }
    arguments.insert(arguments.end(), {"run", "job", "--", "echo", "begun"});
    command one(arguments);
    CHECK(one.says("as it refused a release: "));
    REQUIRE(::kill(one.running().pid(), SIGINT) == 0);
    const auto [status, text] = one.end();
    CAPTURE(text);
    CHECK(status == 128 + SIGINT);
    CHECK_THAT(text, ContainsSubstring("missing permissions"));
    CHECK_THAT(text, !ContainsSubstring("another"));
    CHECK_THAT(text, !ContainsSubstring("begun"));
}

TEST_CASE("a run quotes the nodes that refuse its release", "[run]")
{
    const scripted_server node([](scripted_connection& c) -> boost::asio::awaitable<void> {
        co_await c.serve([](const arguments& command) -> std::optional<std::string> {
            const bool is_release = command.size() == 5 && command[2] == "1" && command[3] == "job";
            return is_release ? wire::error("NOPERM not today") : obedient(command);
        });
    });
    const auto [status, text] =
        command({"--node", node.url(), "run", "--no-fencing", "--label", "", "job", "--", "true"})
            .end();
    CHECK(status == 0);
    CHECK(text.starts_with(
        "redlock: job: unknown whether the lock is released: No majority of the "
        "nodes can be used: NOPERM not today (1 of 1); `redlock doctor --resource NAME` names the "
        "missing permissions\n"));
}

TEST_CASE("with --json a run prints one JSON value on each line", "[run]")
{
    masters nodes(3);
    const temp_dir folder;
    const auto go = (folder / "go").string();
    SECTION("the command does not exist")
    {
        const auto [status, text] = run(nodes, {"--json", "run", "job", "--", "no-such-program"});
        CHECK(status == 127);
        const auto why = nlohmann::json::parse(text);
        CHECK(why.at("message") == "no-such-program: No such file or directory");
        CHECK(why.at("status") == 127);
    }
    SECTION("the lock is lost")
    {
        command one(nodes, {"--json", "run", brief_option, "job", "--", "sleep", "1000"});
        REQUIRE(wait_for([&] { return nodes.count("job") == nodes.size(); }));
        nodes.flush();
        const auto [status, text] = one.end();
        CHECK(status == 76);
        std::istringstream lines(text);
        std::string line;
        REQUIRE(std::getline(lines, line));
        const auto why = nlohmann::json::parse(line);
        CHECK(why.at("error") == "lost");
        CHECK(why.at("status") == 76);
        CHECK(why.at("nodes").size() == 3);
        REQUIRE(std::getline(lines, line));
        CHECK(nlohmann::json::parse(line).at("inspection").at("state") == "free");
        CHECK_FALSE(std::getline(lines, line));
    }
    SECTION("the lock is kept for --min-hold")
    {
        command one(nodes, {"--json", "run", "--min-hold", "1h", "job", "--", "true"});
        REQUIRE(one.says("\n"));
        CHECK_THAT(nlohmann::json::parse(one.text()).at("message").get<std::string>(),
                   ContainsSubstring("redlock keeps the lock for another 3"));
        REQUIRE(::kill(one.running().pid(), SIGTERM) == 0);
        CHECK(one.end().status == 0);
    }
    SECTION("connection problems are reported and no node answers the release")
    {
        command one(nodes, {"--json", "--verbose", "run", "job", "--", "sh", "-c",
                            "until [ -e \"$0\" ]; do sleep 0.05; done", go});
        REQUIRE(wait_for([&] { return nodes.count("job") == nodes.size(); }));
        nodes[0].kill();
        nodes[1].kill();
        process touch("/usr/bin/touch", {go});
        CHECK(touch.wait() == 0);
        const auto [status, text] = one.end();
        CHECK(status == 0);
        std::istringstream all(text);
        std::size_t of_connections = 0;
        std::size_t of_the_release = 0;
        for (std::string line; std::getline(all, line);) {
            const auto value = nlohmann::json::parse(line);
            of_connections += value.contains("level") ? 1U : 0U;
            of_the_release += value.contains("nodes") ? 1U : 0U;
            CHECK(value.at("message").is_string());
        }
        CHECK(of_connections >= 3);
        CHECK(of_the_release == 1);
    }
}

TEST_CASE("a command runs under a lock of several resources", "[run]")
{
    const masters nodes(3);
    const auto [status, text] =
        run(nodes, {"run", "a", "b", "--no-fencing", "--", "sh", "-c",
                    "echo \"$REDLOCK_RESOURCE ${REDLOCK_FENCING_TOKEN-none}\""});
    CHECK(status == 0);
    CHECK(text == "a\nb none\n");
    CHECK(run(nodes, {"run", "a", "a", "--", "true"}).status == 64);
}

TEST_CASE("a run without a majority takes no lock and names the nodes", "[run]")
{
    masters nodes(3);
    nodes[0].kill();
    nodes[2].kill();
    const auto [status, text] =
        run(nodes, {"run", "--no-wait", "--connect-timeout", "1h", "job", "--", "true"});
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring(nodes[0].url() + "/0  disconnected"));
    // Whatever the client does in the 200 ms, it gets no majority.
    const auto waited = run(nodes, {"run", "--wait", "200ms", "job", "--", "true"});
    CHECK(waited.status == 69);
}

TEST_CASE("a waiting run ends after an outage of --max-outage but waits longer for a holder",
          "[run]")
{
    masters nodes(3);
    const temp_dir folder;
    const auto go = (folder / "go").string();
    command first(nodes, {"run", "job", "--", "sh", "-c",
                          "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done", go});
    REQUIRE(first.says("begun"));
    command second(nodes, {"run", "--max-outage", "1h", "job", "--", "true"});
    REQUIRE(second.says("job: waiting: "));
    process touch("/usr/bin/touch", {go});
    CHECK(touch.wait() == 0);
    CHECK(second.end().status == 0);

    nodes[0].kill();
    nodes[2].kill();
    // On a busy machine the command may find the two ports closed only after the outage.
    said outage;
    REQUIRE(wait_for([&] {
        outage = run(nodes, {"run", "--max-outage", "200ms", "job", "--", "true"});
        CHECK(outage.status == 69);
        CHECK_THAT(outage.text, ContainsSubstring("No majority of the nodes can be used"));
        return outage.text.find("no connection yet") == std::string::npos;
    }));
    CHECK_THAT(outage.text, ContainsSubstring("Connection refused (2 of 3)"));
}

TEST_CASE("nodes that are frozen from the start count as an outage for --max-outage", "[run]")
{
    masters nodes(3);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].stop();
    }
    const std::string name = GENERATE("acquire", "run");
    // No node answers within the 200 ms, however slow the machine is.
    std::vector<std::string> arguments{name, "--max-outage", "200ms", "--connect-timeout",
                                       "1h", "job"};
    if (name == "run") {
        arguments.insert(arguments.end(), {"--", "true"});
    }
    const auto [status, text] = run(nodes, arguments);
    CHECK(status == 69);
    CHECK_THAT(text, ContainsSubstring("yet (3 of 3)"));
}

TEST_CASE("a run reports a lock that was lost unnoticed even if the command succeeded", "[run]")
{
    const masters nodes(3);
    SECTION("the keys were gone at its end")
    {
        const temp_dir folder;
        const auto go = (folder / "go").string();
        command one(nodes, {"run", "job", "--", "sh", "-c",
                            "echo begun; until [ -e \"$0\" ]; do sleep 0.05; done", go});
        REQUIRE(one.says("begun"));
        nodes.flush();
        process touch("/usr/bin/touch", {go});
        CHECK(touch.wait() == 0);
        const auto [status, text] = one.end();
        CHECK(status == 76);
        CHECK_THAT(text, ContainsSubstring("the lock was lost before the command ended; no "
                                           "majority of the nodes has its key any more\n"));
    }
    SECTION("redlock was stopped for longer than the lock is valid")
    {
        const temp_dir folder;
        const auto go = (folder / "go").string();
        command one(nodes, {"run", brief_option, "job", "--", "sh", "-c",
                            "echo begun; until [ -e \"$0\" ]; do sleep 0.05; done; echo done", go});
        REQUIRE(one.says("begun"));
        REQUIRE(::kill(one.running().pid(), SIGSTOP) == 0);
        REQUIRE(wait_for([&] { return nodes.count("job") == 0; }));
        process touch("/usr/bin/touch", {go});
        CHECK(touch.wait() == 0);
        REQUIRE(one.says("done"));
        REQUIRE(::kill(one.running().pid(), SIGCONT) == 0);
        const auto [status, text] = one.end();
        CHECK(status == 76);
        // Either the command ends first or the validity does.
        CHECK_THAT(text, ContainsSubstring("; redlock did not renew it in time: redlock or its "
                                           "machine was stopped"));
    }
}

TEST_CASE("a run passes on signals even while it looks up the names of nodes", "[run]")
{
    const masters nodes(1);
    auto url = nodes[0].url();
    url.replace(url.find("127.0.0.1"), 9, "localhost");
    command one({"--node", url, "run", "job", "--", "sh", "-c",
                 "trap 'echo got; exit 5' TERM; echo begun; while :; do sleep 0.05; done"});
    REQUIRE(one.says("begun"));
    REQUIRE(::kill(one.running().pid(), SIGTERM) == 0);
    CHECK(one.end().status == 5);
    CHECK(nodes.count("job") == 0);
}

TEST_CASE("a command learns of its own lock and gets no secrets", "[run]")
{
    const masters nodes(3);
    const auto [status, text] =
        run(nodes,
            {"run", "--no-fencing", "job", "--", "sh", "-c",
             "echo \"$REDLOCK_RESOURCE ${REDLOCK_FENCING_TOKEN-none} "
             "${REDLOCK_PASSWORD-none} ${REDLOCK_OWNER_TOKEN-none}\""},
            {"REDLOCK_FENCING_TOKEN=7", "REDLOCK_RESOURCE=other", "REDLOCK_OWNER_TOKEN=hush"});
    CHECK(status == 0);
    CHECK(text == "job none none none\n");
}

TEST_CASE("a run works whatever signal settings its parent left", "[run]")
{
    const masters nodes(3);
    const temp_dir folder;
    // Children whose SIGCHLD is ignored end without a status.
    process ignoring(
        "/usr/bin/env",
        {"--ignore-signal=CHLD", REDLOCK_COMMAND, "run", "job", "--", "sh", "-c", "exit 4"},
        {folder / "out", {}, {nodes_variable(nodes.urls()), own_options(folder)}});
    CHECK(ignoring.wait() == 4);
    // As nohup does.
    CHECK(run(nodes, {"acquire", "job"}).status == 0);
    process waiting("/usr/bin/env",
                    {"--ignore-signal=HUP", REDLOCK_COMMAND, "-v", "run", "job", "--", "true"},
                    {folder / "waiting", {}, {nodes_variable(nodes.urls()), own_options(folder)}});
    REQUIRE(wait_for(
        [&] { return text_of(folder / "waiting").find(": usable") != std::string::npos; }));
    REQUIRE(::kill(waiting.pid(), SIGHUP) == 0);
    nodes.flush();
    CHECK(waiting.wait() == 0);
}

TEST_CASE("no other thread takes the signals that a run reads even during name lookups", "[run]")
{
    const masters nodes(3);
    std::vector<std::string> urls;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        urls.push_back("redis://localhost:" + std::to_string(nodes[i].port()));
    }
    const temp_dir folder;
    const auto go = (folder / "go").string();
    command one({"run", "job", "--", "sh", "-c",
                 "echo begun; while ! [ -e \"$0\" ]; do sleep 0.05; done", go},
                {nodes_variable(urls)});
    REQUIRE(one.says("begun"));
    int threads = 0;
    const std::filesystem::path tasks("/proc/" + std::to_string(one.running().pid()) + "/task");
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        const auto status = text_of(task.path() / "status");
        const auto blocked = std::stoull(status.substr(status.find("SigBlk:") + 7), nullptr, 16);
        CAPTURE(task.path(), blocked);
        CHECK((blocked >> (SIGCHLD - 1) & 1) == 1);
        CHECK((blocked >> (SIGTERM - 1) & 1) == 1);
        ++threads;
    }
    CHECK(threads >= 2);
    process touch("/usr/bin/touch", {go});
    CHECK(touch.wait() == 0);
    CHECK(one.end().status == 0);
}
