#include "cli/command.hpp"
#include "cli/page.hpp"
#include "support/certificates.hpp"
#include "support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::test;

namespace {

/// The places of a part of the login, in the order of the page's columns.
enum place : unsigned { at_url, at_argument, at_environment, at_file };
constexpr std::array<std::string_view, 4> place_names{"URL", "argument", "environment", "file"};

/// One bit for each place.
using places = unsigned;

constexpr bool has(places given, unsigned at)
{
    return (given >> at & 1U) != 0;
}

/// The rows for a part in the page's table of all combinations.
class combinations {
public:
    explicit combinations(const std::string& part)
        : rows_(rows_of_page("guides/tls_and_acl.md", part))
    {
        // Another table of the page has rows with the same names and fewer columns.
        std::erase_if(rows_, [](const auto& row) { return row.size() != 2 + place_names.size(); });
    }

    /// Whether the part can be in the place at all.
    [[nodiscard]] bool knows(unsigned at) const { return rows_.at(0).at(1 + at) != "-"; }

    /// The place whose value counts. No value if none does.
    /// @throws std::runtime_error if not exactly one row fits.
    [[nodiscard]] std::optional<unsigned> place_for(places given) const
    {
        std::vector<std::string> results;
        for (const auto& row : rows_) {
            if (fits(row, given)) {
                results.push_back(row.back());
            }
        }
        if (results.size() != 1) {
            throw std::runtime_error(std::to_string(results.size()) +
                                     " rows of the page fit the places " + std::to_string(given));
        }
        const auto* const name = std::ranges::find(place_names, results.front());
        return name == place_names.end() ? std::nullopt
                                         : std::optional<unsigned>(name - place_names.begin());
    }

private:
    static bool fits(const std::vector<std::string>& row, places given)
    {
        for (unsigned at = 0; at < place_names.size(); ++at) {
            const std::string& cell = row.at(1 + at);
            if (cell != "any" && cell != "yes" && cell != "no" && cell != "-") {
                throw std::runtime_error("the page has a cell '" + cell + "'");
            }
            if (cell != "any" && (cell == "yes") != has(given, at)) {
                return false;
            }
        }
        return true;
    }

    std::vector<std::vector<std::string>> rows_;
};

/// Every set of places that the part can be in.
std::vector<places> all_of(const combinations& part)
{
    std::vector<places> all;
    for (places given = 0; given < 1U << place_names.size(); ++given) {
        bool is_possible = true;
        for (unsigned at = 0; at < place_names.size(); ++at) {
            is_possible = is_possible && (part.knows(at) || !has(given, at));
        }
        if (is_possible) {
            all.push_back(given);
        }
    }
    return all;
}

/// A node that grants everything, and a command that asks it once.
class asked_node {
public:
    asked_node()
        : node_([](scripted_connection& c) -> boost::asio::awaitable<void> { co_await c.serve(); })
    {}

    /// The commands that the node got from one run of the command.
    std::vector<arguments> ask(const std::string& login, const std::string& database,
                               arguments options, const std::string& options_of_file,
                               const std::vector<std::string>& variables = {})
    {
        const std::string config = file_with("redlock.toml", options_of_file);
        options.insert(options.end(),
                       {"--config", config, "--node",
                        "redis://" + login + "127.0.0.1:" + std::to_string(node_.port()) + database,
                        "inspect", "job"});
        const auto before = static_cast<std::ptrdiff_t>(node_.commands().size());
        (void)command(options, variables).end();
        const auto all = node_.commands();
        return {all.begin() + before, all.end()};
    }

    /// The path of a file in the node's folder.
    std::string file_with(const std::string& name, const std::string& text)
    {
        std::ofstream(folder_ / name) << text;
        return (folder_ / name).string();
    }

private:
    scripted_server node_;
    temp_dir folder_;
};

/// The words of the greeting that log in, or nothing.
arguments login_in(const std::vector<arguments>& commands)
{
    const arguments& greeting = commands.at(0);
    const auto at = std::ranges::find(greeting, "AUTH");
    return at == greeting.end() ? arguments() : arguments(at + 1, at + 3);
}

}  // namespace

TEST_CASE("a command takes user and password from the places that the page names", "[credentials]")
{
    asked_node node;
    const combinations users("user");
    const combinations passwords("password");
    REQUIRE(all_of(users).size() == 16);
    REQUIRE(all_of(passwords).size() == 16);
    for (const places user : all_of(users)) {
        for (const places password : all_of(passwords)) {
            std::string login = has(user, at_url) ? "user0" : "";
            login += has(password, at_url) ? ":password0" : "";
            arguments options;
            std::string in_file;
            std::vector<std::string> variables;
            if (has(user, at_argument)) {
                options.insert(options.end(), {"--user", "user1"});
            }
            if (has(user, at_environment)) {
                variables.emplace_back("REDLOCK_USER=user2");
            }
            if (has(user, at_file)) {
                in_file += "user = \"user3\"\n";
            }
            if (has(password, at_argument)) {
                options.insert(options.end(),
                               {"--password-file", node.file_with("p1", "password1\n")});
            }
            if (has(password, at_environment)) {
                variables.emplace_back("REDLOCK_PASSWORD=password2");
            }
            if (has(password, at_file)) {
                in_file += "password-file = '" + node.file_with("p3", "password3\n") + "'\n";
            }
            const auto found = login_in(
                node.ask(login.empty() ? "" : login + '@', "", options, in_file, variables));
            const auto from = [](const char* part, std::optional<unsigned> at) {
                return at ? part + std::to_string(*at) : "";
            };
            const std::string wanted_user = from("user", users.place_for(user));
            const std::string wanted_password = from("password", passwords.place_for(password));
            CAPTURE(user, password);
            if (wanted_user.empty() && wanted_password.empty()) {
                CHECK(found.empty());
            } else {
                CHECK(found ==
                      arguments{wanted_user.empty() ? "default" : wanted_user, wanted_password});
            }
        }
    }
}

TEST_CASE("a command takes the database from the place that the page names", "[credentials]")
{
    asked_node node;
    const combinations databases("database");
    REQUIRE(all_of(databases).size() == 8);
    // One more than the place, because no command selects database 0.
    const auto number = [](unsigned at) { return std::to_string(at + 1); };
    for (const places given : all_of(databases)) {
        const arguments options =
            has(given, at_argument) ? arguments{"--db", number(at_argument)} : arguments();
        const auto commands = node.ask("", has(given, at_url) ? '/' + number(at_url) : "", options,
                                       has(given, at_file) ? "db = " + number(at_file) + "\n" : "");
        const auto select =
            std::ranges::find_if(commands, [](const auto& c) { return c.front() == "SELECT"; });
        const auto wanted = databases.place_for(given);
        CAPTURE(given);
        REQUIRE((select != commands.end()) == wanted.has_value());
        CHECK((!wanted || select->at(1) == number(*wanted)));
    }
}

TEST_CASE("a command takes each TLS option from the place that the page names",
          "[credentials][tls]")
{
    const certificates world;
    const masters nodes(1, {.tls = server_tls{world.ca.certificate, world.wrong_name.certificate,
                                              world.wrong_name.key, true}});
    // Each option with its right value and a wrong one.
    const std::array<std::array<std::string, 3>, 4> all{
        {{"ca-file", world.ca.certificate.string(), "/no/such"},
         {"cert-file", world.client.certificate.string(), "/no/such"},
         {"key-file", world.client.key.string(), "/no/such"},
         {"server-name", "elsewhere.example", "wrong.example"}}};
    const combinations options("TLS option");
    REQUIRE(all_of(options).size() == 4);
    const temp_dir folder;
    const auto config = (folder / "redlock.toml").string();
    // One bit for each option: in the file and in the arguments, or in one of them.
    for (const places others : {1U << at_argument, 1U << at_file}) {
        for (unsigned in_both = 0; in_both < 1U << all.size(); ++in_both) {
            std::string in_file =
                "node-timeout = \"" + std::to_string(brief_timeout.count()) + "ms\"\n";
            arguments words{"--node", nodes[0].tls_url(), "--config", config};
            for (unsigned i = 0; i < all.size(); ++i) {
                const places given = has(in_both, i) ? 1U << at_argument | 1U << at_file : others;
                const auto& [name, right, wrong] = all[i];
                const auto value = [&, counts = options.place_for(given)](place at) {
                    return counts == at ? right : wrong;
                };
                if (has(given, at_argument)) {
                    words.insert(words.end(), {"--" + name, value(at_argument)});
                }
                if (has(given, at_file)) {
                    in_file += name + " = '" + value(at_file) + "'\n";
                }
            }
            std::ofstream(config) << in_file;
            words.insert(words.end(), {"run", "--ttl", "1h", "job", "--", "true"});
            const auto [status, text] = command(words).end();
            CAPTURE(others, in_both);
            CHECK(text.empty());
            CHECK(status == 0);
        }
    }
}
