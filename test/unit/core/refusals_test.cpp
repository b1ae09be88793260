#include "harness.hpp"
#include "resp/scripts.hpp"
#include "support/virtual/random.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::string_view login_password = "s3cr3t-PASSWORD";
/// How many refusals a test of all errors draws. The whole test takes less than a second.
constexpr std::uint64_t draws = 400;

config with_login()
{
    config c;
    c.nodes = {"redis://somebody:" + std::string(login_password) + "@10.0.0.1"};
    return c;
}

/// Draws the texts with which servers, proxies and ACLs refuse a command. The same seed draws the
/// same texts.
class refusal_source {
public:
    explicit refusal_source(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_.below(n); }

    /// An error without a code that says that the refusal is final or temporary. Such a code may
    /// occur within the sentence, where it is a word like any other.
    [[nodiscard]] std::string without_code(std::string_view command)
    {
        static constexpr auto fronts = std::to_array<std::string_view>({"",
                                                                        "",
                                                                        "ERR ",
                                                                        "ERR ",
                                                                        "Err ",
                                                                        "err ",
                                                                        "ERROR ",
                                                                        "error: ",
                                                                        "-",
                                                                        "-ERR ",
                                                                        "ERR ERR ",
                                                                        "(error) ",
                                                                        "NOPERM ",
                                                                        "noperm ",
                                                                        "NoPerm ",
                                                                        "UNSUPPORTED ",
                                                                        "unsupported: ",
                                                                        "EXECABORT ",
                                                                        "proxy: ",
                                                                        "ERR proxy: ",
                                                                        "[proxy] "});
        static constexpr auto sentences = std::to_array<std::string_view>(
            {"unknown command %",
             "unknown command %, with args beginning with: 'a' 'b' ",
             "unknown subcommand or wrong number of arguments for %. Try CLIENT HELP.",
             "unsupported command",
             "unsupported command %",
             "command % is not allowed",
             "command is not allowed in this plan",
             "% is not supported",
             "% is disabled",
             "syntax error",
             "syntax error near %",
             "syntax error in option 'SETNAME'",
             "wrong number of arguments for % command",
             "not implemented",
             "invalid request",
             "user locks has no permissions to run the % command or its subcommand",
             "permission for % denied",
             "the key of this user is not for %",
             "keymaster may not use %",
             "request denied by a proxy",
             "illegal command: %",
             "no backend takes % while one is LOADING or BUSY",
             "% needs no AUTH, so there is neither NOAUTH nor WRONGPASS here",
             "protocol error, DENIED",
             "%",
             "?",
             ""});
        return front(fronts) + in_any_case(with_name(pick(sentences), command));
    }

    /// An error with this code, in the places where a code counts.
    [[nodiscard]] std::string with_code(std::string_view code)
    {
        static constexpr auto fronts = std::to_array<std::string_view>(
            {"", "ERR ", "ERR Error running script (call to f_1a2b): @user_script: 1: -"});
        static constexpr auto sentences = std::to_array<std::string_view>(
            {"", " Redis is loading the dataset in memory", " unknown command", " try again later",
             " not allowed", " the command GET is not supported"});
        return std::string(pick(fronts)) + std::string(code) +
               in_any_case(std::string(pick(sentences)));
    }

private:
    template <std::size_t Size>
    std::string_view pick(const std::array<std::string_view, Size>& from)
    {
        return from[random_.below(Size)];
    }

    template <std::size_t Size>
    std::string front(const std::array<std::string_view, Size>& fronts)
    {
        const std::string drawn(pick(fronts));
        return random_.one_in(6) ? in_any_case(drawn) : drawn;
    }

    /// Puts the name in place of '%', in some quotes.
    std::string with_name(std::string_view sentence, std::string_view command)
    {
        static constexpr auto quotes = std::to_array<std::pair<const char*, const char*>>(
            {{"", ""}, {"'", "'"}, {"`", "`"}, {"\"", "\""}, {"<", ">"}});
        std::string out(sentence);
        const auto at = out.find('%');
        if (at == out.npos) {
            return out;
        }
        std::string name(command);
        if (random_.one_in(3)) {
            std::replace(name.begin(), name.end(), ' ', '|');
        }
        const auto& [before, after] = quotes[random_.below(quotes.size())];
        return out.replace(at, 1, before + in_any_case(name) + after);
    }

    /// Gives each word a case of its own, or all words the same one.
    std::string in_any_case(std::string text)
    {
        const bool is_uniform = random_.one_in(2);
        std::uint64_t how = random_.below(5);
        bool begins_word = true;
        for (char& c : text) {
            const auto byte = static_cast<unsigned char>(c);
            const bool is_upper =
                how == 1 || (how == 2 && begins_word) || (how == 3 && random_.one_in(2));
            if (how != 0) {
                c = static_cast<char>(is_upper ? std::toupper(byte) : std::tolower(byte));
            }
            begins_word = std::isalnum(byte) == 0;
            how = begins_word && !is_uniform ? random_.below(5) : how;
        }
        return text;
    }

    random_source random_;
};

/// A command that a client can do without.
struct optional_command {
    std::string name;
    /// The key in the model's table of refusals.
    std::string key;
};

/// The commands that a node may refuse, alone or with another one of them.
const std::vector<optional_command>& optional_commands()
{
    static const std::vector<optional_command> all{
        {"HELLO", "HELLO"},
        {"SCRIPT LOAD", "SCRIPT LOAD"},
        {"SCRIPT", "SCRIPT"},
        {"COMMAND", "COMMAND"},
        {"EVALSHA", "EVALSHA"},
        {"DELIFEQ", "DELIFEQ"},
        {"DELEX", "DELEX"},
        {"INFO", "INFO"},
        {"ROLE", "ROLE"},
        {"CLIENT", "CLIENT"},
        {"CLIENT SETNAME", "CLIENT SETNAME"},
        {"CLIENT TRACKING", "CLIENT TRACKING"},
        {"CLIENT CACHING", "CLIENT CACHING"},
        {"PING", "PING"},
        {"GETRANGE", "GETRANGE"},
        {"EVAL", "EVAL " + std::string(resp::label_script.text)},
    };
    return all;
}

/// The refusals of a node, for a message.
std::vector<std::string> texts_of(const model_master& node)
{
    std::vector<std::string> out;
    for (const auto& [command, text] : node.refusals) {
        out.push_back(command.substr(0, command.find('\n')) + ": " + text);
    }
    return out;
}

constexpr std::string_view others = "another client";

/// Acquires, extends, inspects and releases a lock with a label, waits for the lock of this client
/// and of another one, and then idles.
void use_locks(bench_world& w, bool shows_labels)
{
    model_master& node = w.peers[0]->master;
    w.with_report = true;
    acquire_options labelled;
    labelled.ttl = 1min;
    labelled.label = "backup on web1";
    const std::string_view label = shows_labels ? labelled.label : std::string_view();
    core::lease& first = w.lock("r", labelled);
    const call& once = w.acquire("r", {.timeout = 0ms});
    CHECK(once.error == errc::contended);
    CHECK(once.report.holder_label == label);
    CHECK(w.inspect("r").found.state == lock_state::held);
    CHECK_FALSE(w.extend(first, 2min).error);
    const call& next = w.acquire("r", {.timeout = 1min});
    w.advance(2s);
    CHECK_FALSE(next.done());
    CHECK(w.release(first).released == release_result::released);
    w.advance(w.settings.max_poll_interval + 1s);
    REQUIRE(next.held != nullptr);
    w.drop(*next.held);

    node.write("s", {.value = std::string(others), .end = w.now + 1h});
    const call& later = w.acquire("s", {.timeout = 1min});
    w.advance(2s);
    CHECK_FALSE(later.done());
    node.lose("s");
    w.advance(w.settings.max_poll_interval + 1s);
    REQUIRE(later.held != nullptr);
    w.drop(*later.held);

    const auto checks = [&w] { return w.count(0, "PING") + w.role_queries(0); };
    const auto before = checks();
    w.advance(w.settings.ping_interval + 1s);
    CHECK(checks() > before);
    CHECK(node.find(w.now, "r") == nullptr);
    CHECK(node.find(w.now, "s") == nullptr);
    CHECK(w.is_idle());
}

}  // namespace

TEST_CASE("p49: any refusal of an optional command leaves the node usable", "[core][pitfall][p49]")
{
    const auto& commands = optional_commands();
    for (std::uint64_t seed = 1; seed <= draws; ++seed) {
        refusal_source source{seed};
        bench_world w{1};
        model_master& node = w.peers[0]->master;
        (source.below(2) == 0 ? node.has_delifeq : node.has_delex) = source.below(4) != 0;
        if (source.below(3) == 0) {
            node.role.clear();  // the client then sends PING in place of the role query
        }
        bool shows_labels = true;
        const auto refused = 1 + source.below(2);
        for (std::uint64_t i = 0; i < refused; ++i) {
            const auto& [name, key] = commands[source.below(commands.size())];
            node.refusals[key] = source.without_code(name);
            shows_labels = shows_labels && name != "GETRANGE" && name != "EVAL";
        }
        CAPTURE(seed, texts_of(node));
        w.start();
        REQUIRE(w.ready() == 1);
        use_locks(w, shows_labels);
        CHECK(w.ready() == 1);
        CHECK(w.peers[0]->closes == 0);
        CHECK(w.peers[0]->connects == 1);
    }
}

TEST_CASE("p49: a NOPERM that only mentions a key leads to the text of a script",
          "[core][pitfall][p49]")
{
    bench_world w{1};
    w.peers[0]->master.refusals["EVALSHA"] = "NOPERM keymaster may not use it";
    w.start();
    REQUIRE(w.ready() == 1);
    core::lease& l = w.lock("r");
    CHECK_FALSE(w.extend(l, 20s).error);
    CHECK(w.release(l).released == release_result::released);
}

TEST_CASE("p49: any refusal of HELLO leads to the older greeting", "[core][pitfall][p49]")
{
    for (std::uint64_t seed = 1; seed <= draws / 4; ++seed) {
        bench_world w{1, with_login()};
        w.peers[0]->master.password = login_password;
        w.peers[0]->master.refusals["HELLO"] = refusal_source{seed}.without_code("HELLO");
        CAPTURE(seed, texts_of(w.peers[0]->master));
        w.start();
        REQUIRE(w.ready() == 1);
        CHECK(w.release(w.lock("r")).released == release_result::released);
    }
}

TEST_CASE("p49: after any refusal of AUTH the next command decides", "[core][pitfall][p49]")
{
    const bool wants_login = GENERATE(false, true);
    for (std::uint64_t seed = 1; seed <= draws / 4; ++seed) {
        bench_world w{1, with_login()};
        w.peers[0]->master.knows_hello = false;
        w.peers[0]->master.refusals["AUTH"] = refusal_source{seed}.without_code("AUTH");
        CAPTURE(seed, texts_of(w.peers[0]->master));
        if (wants_login) {
            w.peers[0]->master.password = login_password;
        }
        w.start();
        CHECK((w.ready() == 1) != wants_login);
        if (wants_login) {
            CHECK(w.why_unused() ==
                  "the server wants a login (NOAUTH), after it refused user and password");
        }
    }
}

TEST_CASE("p49: a final or temporary code decides in any sentence", "[core][pitfall][p49]")
{
    struct row {
        const char* command;
        const char* code;
        bool passes;
        bool logs_in = false;
    };
    std::vector<row> rows{
        {"HELLO", "WRONGPASS", false},      {"HELLO", "WRONGPASS", false, true},
        {"HELLO", "DENIED", false},         {"HELLO", "DENIED", false, true},
        {"AUTH", "WRONGPASS", false, true}, {"AUTH", "DENIED", false, true},
        {"HELLO", "NOAUTH", false},         {"SCRIPT LOAD", "NOAUTH", false},
        {"EVALSHA", "NOAUTH", false},       {"INFO", "NOAUTH", false},
    };
    for (const char* code : {"LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN", "CLUSTERDOWN"}) {
        for (const char* command : {"HELLO", "SCRIPT LOAD", "EVALSHA", "INFO"}) {
            rows.push_back({command, code, true});
        }
        rows.push_back({"AUTH", code, true, true});
    }
    for (const char* code : {"READONLY", "MOVED", "ASK", "NOREPLICAS"}) {
        rows.push_back({"EVALSHA", code, false});
    }
    std::uint64_t seed = 0;
    for (const row& r : rows) {
        for (int i = 0; i < 8; ++i) {
            bench_world w{1, r.logs_in ? with_login() : config{}};
            model_master& node = w.peers[0]->master;
            node.knows_hello = std::string_view(r.command) != "AUTH";
            node.refusals[r.command] = refusal_source{++seed}.with_code(r.code);
            CAPTURE(seed, texts_of(node));
            w.start();
            CHECK(w.ready() == 0);
            REQUIRE(w.log_levels.size() == 1);
            CHECK(w.log_levels[0] == (r.passes ? log_level::warning : log_level::error));
            CHECK(w.why_unused().find('(' + std::string(r.code) + ')') != std::string::npos);
            CHECK(node.sets == 0);
            node.refusals.clear();
            w.advance(w.settings.reconnect_backoff_max + 1s);
            CHECK(w.ready() == 1);
        }
    }
}
