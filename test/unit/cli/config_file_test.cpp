#include "cli/config_file.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sstream>
#include <string>
#include <vector>

using redlock::cli::config_file;

namespace {

/// The options that CLI11 gets from a file, as `run.ttl = 9s`.
std::vector<std::string> items_of(const std::string& text)
{
    std::istringstream in(text);
    std::vector<std::string> out;
    for (const auto& item : config_file().from_config(in)) {
        std::string line = item.fullname();
        for (const auto& input : item.inputs) {
            line += " = " + input;
        }
        out.push_back(line);
    }
    return out;
}

std::string fault_of(const std::string& text)
{
    try {
        (void)items_of(text);
        return {};
    } catch (const CLI::ConfigError& e) {
        return e.what();
    }
}

using list = std::vector<std::string>;

}  // namespace

TEST_CASE("a file of options has texts, numbers, flags and lists of them", "[unit][config]")
{
    CHECK(items_of("user = \"locks\"\ndb = 3\ndrift = 0.02\njson = true\nverbose = false\n") ==
          list{"user = locks", "db = 3", "drift = 0.02", "json = true", "verbose = false"});
    CHECK(items_of("node = [\n  'redis://a',  # the first\n  \"redis://b\",\n]\ndb = [1, 2]") ==
          list{"node = redis://a = redis://b", "db = 1 = 2"});
    CHECK(items_of("\xef\xbb\xbf# all\r\nuser = ''\r\n") == list{"user = "});
    CHECK(items_of("").empty());
}

TEST_CASE("a text of a file has the escapes of TOML between double quotes only", "[unit][config]")
{
    CHECK(items_of(R"(key-prefix = "a\tb\\c\u0064\"#;"  # a comment)") ==
          list{"key-prefix = a\tb\\cd\"#;"});
    CHECK(items_of(R"(key-prefix = 'a\tb"#')") == list{R"(key-prefix = a\tb"#)"});
    CHECK(items_of("key-prefix = \"\"\"a\"b\"\"\"") == list{"key-prefix = a\"b"});
}

TEST_CASE("the options of a file stay in order and name their sections", "[unit][config]")
{
    const std::string text =
        "user = 'a'\nrun.ttl = '9s'\n[inspect]\nwatch = true\n[ default ]\ndrift = 0\n"
        "[acquire]\nttl = '8s'\nlabel = ''\n[doctor]\n[run.more]\n";
    CHECK(items_of(text) == list{"user = a", "run.++", "run.ttl = 9s", "inspect.++",
                                 "inspect.watch = true", "drift = 0", "acquire.++",
                                 "acquire.ttl = 8s", "acquire.label = ", "doctor.++",
                                 "run.more.++"});
    config_file file;
    std::istringstream in(text);
    (void)file.from_config(in);
    CHECK(file.line_of("user") == 1);
    CHECK(file.line_of("run.ttl") == 2);
    CHECK(file.line_of("inspect") == 3);
    CHECK(file.line_of("drift") == 6);
    CHECK(file.line_of("acquire.label") == 9);
    CHECK_FALSE(file.line_of("ttl"));
}

TEST_CASE("a fault in a file of options has its line and its mend and no value", "[unit][config]")
{
    const std::string neither = "is neither NAME = VALUE nor [SECTION]; a list needs quotes";
    const std::string no_name = "the text before = is not the name of an option";
    const std::string no_section = "a [SECTION] must be the name of a command";
    const std::string no_value = " is not TOML: each text, duration and URL needs quotes";
    const std::string not_closed = "is not complete, or a list or a text above it is not closed";
    struct row {
        std::string text;
        std::string fault;
    };
    const row r = GENERATE_REF(values<row>({
        // The format before TOML permitted these.
        {"; hidden\n", "line 1: a comment begins with #, not with ;"},
        {"user = hidden\n", "line 1: the value of user" + no_value},
        {"\nrun.ttl = 9s\n", "line 2: the value of run.ttl" + no_value},
        {"node = 'hidden'\nnode = 'hidden'\n",
         "line 2: node is in a line above already; several values are a list: node = [\"A\", "
         "\"B\"]"},
        {"[run]\n[acquire]\n[run]\n", "line 3: run is in a line above already"},
        {"user = 'hidden' ; comment\n", "line 1: the value of user" + no_value},
        {"node = [hidden,\n'b']\n", "line 1: the value of node" + no_value},
        // Two lines for one option that TOML permits.
        {"drift = 1\n[default]\n\ndrift = 2\n", "line 4: drift is in line 1 already"},
        {"[acquire]\nno-fencing = true\nfencing = true\n",
         "line 3: acquire.fencing, or acquire.no-fencing, is in line 2 already"},
        {"run.ttl = '1s'\n[run]\n", "line 2: run is in a line above already"},
        // Names.
        {"hidden\n", "line 1: " + neither},
        {"a = 1\naGlkZGVu=\n", "line 2: " + no_name},
        {"\n= 3\n", "line 2: " + no_name},
        {"redis://:hidden@h?a=b\n", "line 1: " + no_name},
        {"'Hidden' = 1\n", "line 1: " + no_name},
        {"[run]\nRESOURCE = \"b\"\n", "line 2: " + no_name},
        {"[Hidden]\n", "line 1: " + no_section},
        {"[run] hidden\n", "line 1: " + no_section},
        {"user\x01 = 1\n", "line 1: has a control character"},
        // Texts, lists and sections that do not end.
        {"user = \"hidden\n", "line 1: the value of user" + no_value},
        {"user = '''hidden\n\n\n", "line 1: the value of user" + no_value},
        {"[inspect\n", "line 1: [inspect] " + not_closed},
        {"node = [\"redis://a\",\n\"redis://b\"\n[run]\n", "line 3: [run] " + not_closed},
        {"node = [\"redis://a\",\n\"hidden\"\n\n", "line 2: " + neither},
        {"node = [\"redis://a\",\nuser = \"x\"\n]\n", "line 2: the value of user" + no_value},
        // Values.
        {"node = []\n", "line 1: node has no value"},
        {"a = '1s'\ndrift =\n", "line 2: drift has no value"},
        {"user = \"hi\\qdden\"\n", "line 1: the value of user" + no_value},
        {"user = \"hid\"den\n", "line 1: the value of user" + no_value},
        {"user = '\xff'\n", "line 1: the value of user" + no_value},
        {"user = \"hid\\nden\"\n", "line 1: user has a control character"},
        {"node = [\n'a',\n\"hid\\u0000den\"]\n", "line 3: node has a control character"},
        {"user = 1979-05-27\n", "line 1: user must be a text between quotes, a number, true"},
        {"node = [[1]]\n", "line 1: node must be a text between quotes, a number, true"},
        {"node = [{ hidden = 1 }]\n", "line 1: node must be a text between quotes"},
        {"[[run]]\n", "line 1: run must be a text between quotes"},
    }));
    const std::string fault = fault_of(r.text);
    CAPTURE(r.text, fault);
    CHECK(fault.starts_with(r.fault));
    CHECK_THAT(fault, !Catch::Matchers::ContainsSubstring("hidden"));
}
