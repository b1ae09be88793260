#include "cli/command.hpp"

#include "base/address.hpp"
#include "cli/config_file.hpp"
#include "cli/inspection_text.hpp"
#include "cli/masters.hpp"
#include "cli/printing.hpp"
#include "cli/secret_file.hpp"
#include "cli/taking.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/stat.h>

using namespace redlock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the command completes user and password and database where a URL omits them", "[words]")
{
    struct row {
        const char* url;
        redlock::cli::url_parts rest;
        const char* whole;
    };
    const row r = GENERATE(values<row>({
        {"redis://h", {"", "", {}}, "redis://h"},
        {"redis://h", {"me", "", {}}, "redis://me@h"},
        {"redis://h", {"", "x", {}}, "redis://:x@h"},
        {"redis://h", {"me", "x", {}}, "redis://me:x@h"},
        {"redis://a@h", {"", "", {}}, "redis://a@h"},
        {"redis://a@h", {"me", "", {}}, "redis://a@h"},
        {"redis://a@h", {"", "x", {}}, "redis://a:x@h"},
        {"redis://a@h", {"me", "x", {}}, "redis://a:x@h"},
        {"redis://a:@h", {"me", "x", {}}, "redis://a:x@h"},
        {"redis://:b@h", {"", "", {}}, "redis://:b@h"},
        {"redis://:b@h", {"me", "", {}}, "redis://me:b@h"},
        {"redis://:b@h", {"", "x", {}}, "redis://:b@h"},
        {"redis://:b@h", {"me", "x", {}}, "redis://me:b@h"},
        {"redis://a:b@h", {"", "", {}}, "redis://a:b@h"},
        {"redis://a:b@h", {"me", "", {}}, "redis://a:b@h"},
        {"redis://a:b@h", {"", "x", {}}, "redis://a:b@h"},
        {"redis://a:b@h", {"me", "x", 1}, "redis://a:b@h/1"},
        {"redis://@h", {"", "", {}}, "redis://@h"},
        {"redis://h", {"", "", 3}, "redis://h/3"},
        {"redis://h/", {"", "", 3}, "redis://h/3"},
        {"redis://h/0", {"", "", 3}, "redis://h/0"},
        {"redis://h?durable=1", {"", "", 3}, "redis://h/3?durable=1"},
        {"redis://h:1/2", {"", "p@/:", 3}, "redis://:p%40%2F%3A@h:1/2"},
        {"valkeys://[::1]:1", {"me", "x", {}}, "valkeys://me:x@[::1]:1"},
        {"unix:///run/@odd", {"a", "x", 3}, "unix://a:x@/run/@odd?db=3"},
        {"unix:///run/@odd?db=1", {"", "x", 3}, "unix://:x@/run/@odd?db=1"},
        {"unix:///s?durable=1", {"", "", 3}, "unix:///s?db=3&durable=1"},
        {"nonsense", {"me", "x", 3}, "nonsense"},
    }));
    CHECK(redlock::cli::completed(r.url, r.rest) == r.whole);
}

TEST_CASE("a holder's label has its process and host even with a long program name", "[words]")
{
    using redlock::cli::label_of;
    const std::string end = label_of("/usr/bin/backup", 7).substr(6);
    CHECK(end.starts_with(" (pid 7 on "));
    CHECK(label_of("/usr/bin/back\nup", 7) == "back?up" + end);
    const std::string longest = label_of(std::string(300, 'x'), 7);
    CHECK(longest.size() == redlock::max_label_size);
    CHECK(longest.ends_with("x" + end));
}

namespace {

/// The login of the command at its next connection to a node, as "user:password".
std::string login_at(const redlock::config& c, std::string_view node)
{
    std::string out = "no reply";
    c.credentials(node, [&](redlock::error_code ec, const redlock::credentials& given) {
        out = ec ? ec.message() : given.user + ':' + given.password;
    });
    return out;
}

}  // namespace

TEST_CASE("a client reads its password file at each connection for URLs without a password",
          "[words]")
{
    struct row {
        const char* url;
        const char* user;
        const char* node;
        const char* first;
        const char* then;
    };
    const row r = GENERATE(values<row>({
        {"redis://h", "", "redis://h:6379/3", ":1st", ":2nd"},
        {"redis://h", "me", "redis://h:6379/3", "me:1st", "me:2nd"},
        {"redis://a@h", "", "redis://h:6379/3", "a:1st", "a:2nd"},
        {"redis://a@h", "me", "redis://h:6379/3", "a:1st", "a:2nd"},
        {"redis://a:@h", "me", "redis://h:6379/3", "a:1st", "a:2nd"},
        {"redis://:b@h", "", "redis://h:6379/3", ":b", ":b"},
        {"redis://:b@h", "me", "redis://h:6379/3", "me:b", "me:b"},
        {"redis://a:b%40@h", "me", "redis://h:6379/3", "a:b@", "a:b@"},
        {"redis://:1st@h", "", "redis://h:6379/3", ":1st", ":1st"},
        {"redis://@h", "", "redis://h:6379/3", ":1st", ":2nd"},
        {"valkeys://[::1]:1/0", "me", "rediss://[::1]:1/0", "me:1st", "me:2nd"},
        {"unix:///run/@odd?durable=1", "a", "unix:///run/@odd?db=3", "a:1st", "a:2nd"},
    }));
    CAPTURE(r.url, r.user);
    const temp_dir folder;
    redlock::cli::masters_options o;
    o.nodes = {"redis://c:d@first", r.url};
    o.user = r.user;
    o.database = 3;
    o.password_file = folder / "password";
    std::ofstream(o.password_file) << "\xef\xbb\xbf"
                                      "1st\r\nnot this\n";
    const auto c = redlock::cli::config_of(o);
    CHECK(login_at(c, r.node) == r.first);
    std::ofstream(o.password_file) << "2nd";
    CHECK(login_at(c, r.node) == r.then);
    CHECK(login_at(c, "redis://first:6379/3") == "c:d");
    // The library reads the completed URL in the same way.
    const auto parsed = redlock::base::parse_address(c.nodes.at(1));
    const auto& node = std::get<redlock::base::address>(parsed);
    CHECK(node.display == r.node);
    CHECK(node.user + ':' + std::string(node.password.view()) == r.first);

    // While the file can't be read, the password from before counts.
    std::filesystem::remove(o.password_file);
    CHECK(login_at(c, r.node) == r.then);
    REQUIRE(mkfifo(o.password_file.c_str(), 0600) == 0);
    CHECK(login_at(c, r.node) == r.then);
    CHECK_THROWS_WITH(redlock::cli::secret_in(o.password_file, "--password-file",
                                              redlock::cli::readable::regular),
                      "--password-file: " + o.password_file +
                          ": it is no longer a regular file, and a read of it might never end");
}

TEST_CASE("a lease whose keys are gone on half of an even number of nodes has no majority",
          "[words]")
{
    redlock::report r;
    r.nodes.resize(2);
    r.nodes[0].outcome = redlock::node_outcome::refused;
    r.nodes[1].outcome = redlock::node_outcome::granted;
    CHECK(redlock::cli::why_no_majority(r) == "no majority of the nodes has its key any more");
    r.nodes[0].outcome = redlock::node_outcome::timed_out;
    r.nodes[0].error = "no answer within node_timeout, 50 ms";
    CHECK(redlock::cli::why_no_majority(r) ==
          "No majority of the nodes can be used: no answer within node_timeout, 50 ms (1 of 2); "
          "--node-timeout gives the nodes more time");
}

TEST_CASE("a message does not call a majority of the nodes unusable", "[words]")
{
    redlock::report r;
    r.nodes.resize(3);
    r.nodes[0].outcome = redlock::node_outcome::refused;
    r.nodes[1].outcome = redlock::node_outcome::failed;
    r.nodes[1].error = "MISCONF";
    r.nodes[2].outcome = redlock::node_outcome::granted;
    CHECK(redlock::cli::why_no_majority(r) ==
          "No majority of the nodes agreed: 1 of 3 refused, and 1 of 3 can't be used: MISCONF; "
          "`redlock doctor` says what to do");
    r.nodes[0].outcome = redlock::node_outcome::undecided;
    CHECK(redlock::cli::why_no_majority(r) ==
          "No majority of the nodes agreed: 1 of 3 can't be used: MISCONF; `redlock doctor` says "
          "what to do");
    r.nodes[0].outcome = redlock::node_outcome::failed;
    r.nodes[0].error = "OOM";
    CHECK(redlock::cli::why_no_majority(r) ==
          "No majority of the nodes can be used; `redlock doctor` says what to do");
}

TEST_CASE("an option that takes a file refuses an empty name", "[words]")
{
    const auto* const option =
        GENERATE("--password-file", "--ca-file", "--cert-file", "--key-file");
    const auto [status, text] =
        command({"inspect", "job", "--node", "redis://127.0.0.1:1", option, ""}).end();
    CHECK(status == 64);
    CHECK_THAT(text, ContainsSubstring(std::string(option) + ": an empty text names no file"));
}

TEST_CASE("an option with an empty value leaves the next argument alone", "[words]")
{
    SECTION("that must not be empty")
    {
        struct row {
            const char* option;
            const char* complaint;
        };
        const row r = GENERATE(values<row>({
            {"--ttl=", "run: --ttl: '' is not a duration"},
            {"--wait=", "run: --wait: '' is not a duration"},
            {"--node-timeout=", "run: --node-timeout: '' is not a duration"},
            {"--db=", "run: --db: '' is not a database"},
            {"--password-file=", "run: --password-file: an empty text names no file"},
            {"--node=", "node 1: scheme: must be"},
        }));
        const auto [status, text] = command({"run", r.option, "job", "--", "true"}).end();
        CAPTURE(r.option, text);
        CHECK(status == 64);
        CHECK_THAT(text, ContainsSubstring(r.complaint));
    }
    SECTION("that is a resource")
    {
        std::vector<std::string> arguments{"inspect", "--node", "redis://127.0.0.1:1"};
        const std::string name = GENERATE("RESOURCE=", "--ttl=");
        if (name.starts_with("--")) {
            arguments.emplace_back("--");
        }
        arguments.push_back(name);
        const auto [status, text] = command(arguments).end();
        CAPTURE(text);
        CHECK(status == 69);
        CHECK_THAT(text, ContainsSubstring(name + ": unknown: "));
    }
    SECTION("that may be empty")
    {
        const auto* const option = GENERATE("--label=", "--key-prefix=", "--user=");
        const auto [status, text] =
            command({"run", option, "--ttl", "1 h", "job", "--", "true"}).end();
        CAPTURE(option, text);
        CHECK(status == 64);
        CHECK_THAT(text, ContainsSubstring("run: --ttl: '1 h' is not a duration"));
    }
}

TEST_CASE("a URL with several nodes is refused and the message names the separator", "[words]")
{
    struct row {
        const char* url;
        char separator;
    };
    const row r = GENERATE(values<row>({{"redis://a,redis://b", ','},
                                        {"redis://a;redis://b", ';'},
                                        {"redis://a|redis://b", '|'},
                                        {"redis://a redis://b", ' '},
                                        {"redis://a,b", ','},
                                        {"redis://:p@a,redis://:q@b", ','},
                                        {"redis://a:1;b:2", ';'},
                                        {"redis://:p,;|@a|b", '|'},
                                        {"unix:///a;unix:///b", ';'}}));
    CAPTURE(r.url);
    redlock::cli::masters_options o;
    o.nodes = {r.url};
    CHECK_THROWS_WITH(redlock::cli::config_of(o),
                      std::string("--node: '") + r.separator +
                          "' is between two nodes; give each with a --node of its own");
}

TEST_CASE("a password and the path of a unix socket may hold separators", "[words]")
{
    const auto* const url = GENERATE("redis://:p,;|@a", "unix:///run/a,b;c|d.sock");
    redlock::cli::masters_options o;
    o.nodes = {url};
    CHECK(redlock::cli::config_of(o).nodes == std::vector<std::string>{url});
}

TEST_CASE("without a password file the command's logins come from its URLs", "[words]")
{
    redlock::cli::masters_options o;
    o.nodes = {"redis://c:d@first"};
    CHECK_FALSE(redlock::cli::config_of(o).credentials);
}

TEST_CASE("an option and a key of the file each turn the fair queue off", "[words]")
{
    struct row {
        const char* argument;  ///< empty: none
        const char* file;
        bool is_on;
    };
    const row r = GENERATE(values<row>({
        {"", "", true},
        {"--no-fair-queue", "", false},
        {"", "fair-queue = false", false},
        {"", "no-fair-queue = true", false},
        {"--no-fair-queue", "fair-queue = true", false},
        {"--fair-queue", "fair-queue = false", true},
    }));
    CAPTURE(r.argument, r.file);
    const temp_dir folder;
    const auto file = (folder / "redlock.toml").string();
    std::ofstream(file) << r.file << '\n';
    CLI::App app;
    redlock::cli::masters_options o;
    redlock::cli::add_masters(app, o);
    app.set_config("--config", file);
    app.config_formatter(std::make_shared<redlock::cli::config_file>());
    std::vector<std::string> arguments;
    if (*r.argument != '\0') {
        arguments.emplace_back(r.argument);
    }
    app.parse(arguments);
    CHECK(redlock::cli::config_without_nodes(o).fair_queue == r.is_on);
}

TEST_CASE("an inspection says how many clients wait and for how long the first has", "[words]")
{
    using namespace std::chrono_literals;
    struct row {
        std::optional<std::size_t> waiting;
        std::optional<std::chrono::milliseconds> first;
        const char* line;  ///< empty: none
    };
    const row r = GENERATE(values<row>({
        {{}, {}, ""},
        {0, {}, ""},
        {1, 2540ms, "  1 client waits, for 2.5 s\n"},
        {1, {}, "  1 client waits\n"},
        {3, 75s, "  3 clients wait, the first for 75.0 s\n"},
        {3, {}, "  3 clients wait\n"},
    }));
    redlock::inspection found;
    found.state = redlock::lock_state::held;
    found.owner_known = true;
    found.clients_waiting = r.waiting;
    found.first_waits_for = r.first;
    redlock::report nodes;
    nodes.nodes.resize(1);
    nodes.nodes[0].node = "redis://a:1/0";
    nodes.nodes[0].outcome = redlock::node_outcome::granted;
    CHECK(redlock::cli::inspection_text("job", found, nodes) ==
          std::string("job: held\n") + r.line + "  redis://a:1/0  has the key\n");
    const auto json = redlock::cli::inspection_json("job", found, nodes);
    CHECK(json.contains("clients_waiting") == r.waiting.has_value());
    CHECK(json.value("clients_waiting", std::size_t{0}) == r.waiting.value_or(0));
    CHECK(json.contains("first_waits_for_ms") == r.first.has_value());
    CHECK(json.value("first_waits_for_ms", std::int64_t{0}) == r.first.value_or(0ms).count());
}

namespace {

/// The folder of the manual pages and the completions that the build has made.
const std::filesystem::path words_folder = WORDS;

std::string manual_of(const std::string& name)
{
    return text_of(words_folder / "man1" / (name + ".1"));
}

/// The lines that a shell's script prints.
std::vector<std::string> lines_of(const std::vector<std::string>& shell)
{
    const temp_dir folder;
    process running("/usr/bin/env", shell, {folder / "out", {}, {std::string("WORDS=") + WORDS}});
    CHECK(running.wait() == 0);
    std::istringstream text(text_of(folder / "out"));
    std::vector<std::string> out;
    for (std::string line; std::getline(text, line);) {
        out.push_back(line);
    }
    return out;
}

/// The completions of bash for the last of `words`.
std::vector<std::string> proposals(const std::vector<std::string>& words)
{
    std::string script = "source \"$WORDS/redlock\"; COMP_WORDS=(";
    for (const auto& word : words) {
        script += " '" + word + "'";
    }
    script +=
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _redlock; printf '%s\\n' \"${COMPREPLY[@]}\"";
    return lines_of({"bash", "-c", script});
}

/// The completions of fish, each without its description.
std::vector<std::string> proposals_of_fish(const std::string& line)
{
    auto out = lines_of({"fish", "--no-config", "-c",
                         "source $WORDS/redlock.fish; complete -C '" + line + "' | sort"});
    for (auto& one : out) {
        one.erase(std::min(one.find('\t'), one.size()));
    }
    return out;
}

/// The completion of zsh for a line. zsh completes at a terminal only, so a test types the
/// tabulator.
std::string completed_by_zsh(const std::string& line)
{
    // The file is kept, so that zsh searches all of its functions once and not for each line.
    static const temp_dir folder;
    std::ofstream(folder / ".zshrc") << R"(PROMPT=
fpath=("$WORDS" $fpath)
autoload -U compinit && compinit -u -d "$ZDOTDIR/functions"
show() { print -r -- "<$BUFFER>"; BUFFER=; zle accept-line }
zle -N show && bindkey '^X' show && bindkey '^I' complete-word
print ready
)";
    std::ofstream(folder / "ask") << R"(zmodload zsh/zpty
zpty terminal "TERM=dumb ZDOTDIR=${(q)1} zsh -d -i"
zpty -r terminal seen '*ready*'
zpty -w -n terminal "$2"$'\t\x18'
zpty -r terminal seen '*<*>*'
print -r -- "${${seen##*<}%%>*}"
)";
    const auto said =
        lines_of({"zsh", "-f", (folder / "ask").string(), folder.path().string(), line});
    return said.empty() ? "" : said.back();
}

void need(const char* shell)
{
    process look("/usr/bin/env", {"sh", "-c", "command -v \"$0\" >/dev/null", shell});
    if (look.wait() != 0) {
        SKIP(shell << " is not installed");
    }
}

}  // namespace

TEST_CASE("bash completes commands and options", "[words]")
{
    CHECK(proposals({"redlock", "in"}) == std::vector<std::string>{"inspect"});
    CHECK(proposals({"redlock", "run", "--gr"}) == std::vector<std::string>{"--grace"});
    CHECK(proposals({"redlock", "inspect", "--wat"}) == std::vector<std::string>{"--watch"});
    // Options of every command complete after a command too.
    CHECK(proposals({"redlock", "run", "--key-p"}) == std::vector<std::string>{"--key-prefix"});
    CHECK(proposals({"redlock", "--node-t"}) == std::vector<std::string>{"--node-timeout"});
}

TEST_CASE("fish completes commands and options", "[words]")
{
    need("fish");
    using list = std::vector<std::string>;
    CHECK(proposals_of_fish("redlock in") == list{"inspect"});
    CHECK(proposals_of_fish("redlock run --gr") == list{"--grace"});
    CHECK(proposals_of_fish("redlock --node redis://a run --key-p") == list{"--key-prefix"});
    CHECK(proposals_of_fish("redlock --node-t") == list{"--node-timeout"});
}

TEST_CASE("zsh completes commands and options", "[words]")
{
    need("zsh");
    CHECK(completed_by_zsh("redlock ins") == "redlock inspect ");
    CHECK(completed_by_zsh("redlock run --gr") == "redlock run --grace=");
    CHECK(completed_by_zsh("redlock inspect --wat") == "redlock inspect --watch ");
    CHECK(completed_by_zsh("redlock --node redis://a ins") == "redlock --node redis://a inspect ");
    CHECK(completed_by_zsh("redlock --node redis://a run --key-p") ==
          "redlock --node redis://a run --key-prefix=");
    CHECK(completed_by_zsh("redlock --node-t") == "redlock --node-timeout=");
    // The command to run completes as if it were alone.
    CHECK(completed_by_zsh("redlock run r -- redlock ins") == "redlock run r -- redlock inspect ");
    CHECK(completed_by_zsh("redlock run r --grace=1s -- redlock ins") ==
          "redlock run r --grace=1s -- redlock inspect ");
    CHECK(completed_by_zsh("redlock run --grace=1s r -- redlock ins") ==
          "redlock run --grace=1s r -- redlock inspect ");
}

TEST_CASE("the completions for other shells know as many words", "[words]")
{
    for (const char* file : {"_redlock", "redlock.fish"}) {
        const std::string text = text_of(words_folder / file);
        CHECK_THAT(text, ContainsSubstring("grace"));
        CHECK_THAT(text, ContainsSubstring("key-prefix"));
        CHECK_THAT(text, ContainsSubstring("inspect"));
        CHECK_THAT(text, ContainsSubstring("run acquire extend release inspect"));
    }
    CHECK_THAT(text_of(words_folder / "_redlock"), ContainsSubstring("'*--node=["));
}

TEST_CASE("the help and the manual name every option", "[words]")
{
    const auto all = command({"--help"}).end();
    CHECK(all.status == 0);
    for (const char* name :
         {"run", "acquire", "extend", "release", "inspect", "doctor", "admit", "bench", "demo"}) {
        CAPTURE(name);
        CHECK_THAT(all.text, ContainsSubstring(std::string("\n  ") + name));
        const auto help = command({name, "--help"}).end();
        CHECK(help.status == 0);
        CHECK_THAT(help.text, ContainsSubstring(std::string("Usage: redlock ") + name));
        const auto page = manual_of(std::string("redlock-") + name);
        CHECK_THAT(page, ContainsSubstring(".SH EXIT STATUS"));
        // More than the name: an example, or a hint.
        CHECK_THAT(page, ContainsSubstring("\n.nf\n"));
        CHECK(page.find("\n.nf\n") < page.find("\n.SH OPTIONS\n"));
    }
    for (const char* name : {"run", "doctor"}) {
        CHECK_THAT(command({name, "--help"}).end().text, ContainsSubstring("--node URL"));
        const auto page = manual_of(std::string("redlock-") + name);
        CHECK_THAT(page, ContainsSubstring("\\-\\-node URL"));
        CHECK_THAT(command({name, "--help"}).end().text,
                   ContainsSubstring("\nA DURATION is a number with a unit: ms"));
        CHECK_THAT(page, ContainsSubstring("\nA DURATION is a number with a unit: ms"));
    }
    CHECK_THAT(manual_of("redlock"), ContainsSubstring("redlock\\-run"));
    CHECK(command({"--version"}).end().text == "0.2.0\n");
}

TEST_CASE("the help describes options without the notation of its parser", "[words]")
{
    const auto run = command({"run", "--help"}).end().text;
    CHECK_THAT(run, ContainsSubstring("--fencing,--no-fencing "));
    CHECK_THAT(run, ContainsSubstring("--fair-queue,--no-fair-queue\n"));
    CHECK_THAT(run, ContainsSubstring("--ttl DURATION=10s"));
    CHECK_THAT(run, ContainsSubstring("With --max-ttl: the nodes are new"));
    for (const char* name : {"run", "acquire", "inspect", "doctor", "bench"}) {
        CAPTURE(name);
        const auto help = command({name, "--help"}).end().text;
        const auto page = manual_of(std::string("redlock-") + name);
        for (const char* of_the_parser : {"{false}", " INT", "Needs:", "Excludes:"}) {
            CAPTURE(of_the_parser);
            CHECK(help.find(of_the_parser) == help.npos);
            CHECK(page.find(of_the_parser) == page.npos);
        }
    }
}

TEST_CASE("text below the options of a command wraps at one width", "[words]")
{
    const auto is_text = [](const std::string& line) { return !line.empty() && line[0] != ' '; };
    unsigned wrapped = 0;
    for (const char* name :
         {"run", "acquire", "extend", "release", "inspect", "doctor", "admit", "bench", "demo"}) {
        const auto help = command({name, "--help"}).end().text;
        const auto options = help.find("\nOptions:\n");
        REQUIRE(options != std::string::npos);
        // The text between the command's own options and the options of every command.
        std::istringstream text(help.substr(help.find("\n\n", options + 1)));
        std::string line;
        for (std::string next;
             std::getline(text, next) && !next.starts_with("Options of every command");
             line = next) {
            if (is_text(line) && is_text(next)) {
                CAPTURE(name, line);
                CHECK(line.size() >= 70);
                CHECK(line.size() <= 88);
                ++wrapped;
            }
        }
    }
    CHECK(wrapped > 15);
}

TEST_CASE("a node's outcome is an identifier in JSON", "[words]")
{
    redlock::report r;
    for (const auto o : {redlock::node_outcome::timed_out, redlock::node_outcome::not_asked}) {
        r.nodes.emplace_back().outcome = o;
    }
    const auto nodes = redlock::cli::to_json(r);
    CHECK(nodes.at(0).at("outcome") == "timed_out");
    CHECK(nodes.at(1).at("outcome") == "not_asked");
}

TEST_CASE("the manual says which environment variables and files a command reads", "[words]")
{
    const auto page = manual_of("redlock");
    for (const char* name : {"NODES", "USER", "PASSWORD", "CONFIG", "OWNER_TOKEN"}) {
        CHECK_THAT(page, ContainsSubstring(std::string("\n.B REDLOCK_") + name + '\n'));
    }
    CHECK_THAT(page, ContainsSubstring(".SH ENVIRONMENT\n"));
    CHECK_THAT(page, ContainsSubstring(".SH FILES\n"));
    CHECK_THAT(page, ContainsSubstring("/etc/redlock.toml"));
}

TEST_CASE("a command refuses options that contradict each other", "[words]")
{
    const auto both = command({"acquire", "--wait", "1s", "--no-wait", "job"}).end();
    CHECK(both.status == 64);
    CHECK_THAT(both.text, ContainsSubstring("--wait and --no-wait contradict each other"));
    // The span belongs to --interval.
    CHECK(command({"inspect", "--watch=2s", "job"}).end().status == 64);
}

TEST_CASE("each command that the manual names has a page", "[words]")
{
    std::istringstream page(manual_of("redlock"));
    std::size_t named = 0;
    for (std::string line; std::getline(page, line);) {
        named += line.starts_with(".BR redlock\\-") ? 1U : 0U;
    }
    const auto files =
        std::distance(std::filesystem::directory_iterator(words_folder / "man1"), {});
    CHECK(named + 1 == static_cast<std::size_t>(files));
}
