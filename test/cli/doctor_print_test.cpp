#include "cli/doctor/print.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

using namespace redlock::cli;
using redlock::core::compare_and_delete;
using namespace std::chrono_literals;

namespace {

node_facts some_node(const std::string& name)
{
    node_facts f;
    f.node = name;
    f.reached = contact::whole;
    f.protocol = 3;
    f.role = "master";
    f.kept = keeps::nothing;
    f.info.emplace();
    f.info->product = "Redis";
    f.info->version = "7.0.15";
    f.info->uptime = 3h;
    f[needed::set].is = trial::outcome::went;
    f[needed::evalsha].is = trial::outcome::went;
    f.latency = {10, 80us, 200us, 300us};
    f.clock = clock_facts{1500us, 40us, 3e-6, 100e-6};
    return f;
}

const std::vector<finding> some_findings{
    {severity::error, "b", "evicts", "throws keys away.", "Set noeviction."},
    {severity::warning, "a", "forgets", "forgets.", "Remember."},
    {severity::warning, "b", "replicas", "has 1 replica.", "Detach it."},
    {severity::warning, "b", "forgets", "forgets.", "Remember."},
    {severity::warning, "c", "forgets", "forgets a little.", "Remember."},
    {severity::warning, {}, "even", "2 nodes.", "Add one."},
};

}  // namespace

TEST_CASE("the text has one line for each node and says once what holds for several",
          "[cli][doctor]")
{
    node_facts gone;
    gone.node = "b";
    std::ostringstream out;
    verdict v;
    v.text = "That is all.";
    print_text(out, {some_node("a"), gone}, {{}, {}, false, false, {"Dates: near."}}, some_findings,
               v);
    CHECK(out.str() ==
          "a: Redis 7.0.15, up for 3.0 hours, master, answers within 0.08 ms (99 %: 0.20 ms), "
          "clock +1.5 ms (within 0.04 ms), its rate within 103 ppm, releases by EVALSHA, keeps "
          "nothing on disk\n"
          "b: not connected\n"
          "Dates: near.\n"
          "\n"
          "error    b: throws keys away.\n"
          "         Set noeviction.\n"
          "warning  a, b: forgets.\n"
          "         c: forgets a little.\n"
          "         Remember.\n"
          "warning  b: has 1 replica.\n"
          "         Detach it.\n"
          "warning  2 nodes.\n"
          "         Add one.\n"
          "\n"
          "That is all.\n");
}

TEST_CASE("the line of a connected node that answers nothing says only that", "[cli][doctor]")
{
    node_facts mute;
    mute.node = "a";
    mute.reached = contact::broken;
    std::ostringstream out;
    print_text(out, {mute}, {}, {}, {});
    CHECK(out.str().starts_with("a: connected, but no answer\n"));
}

TEST_CASE("without findings the verdict follows from the nodes", "[cli][doctor]")
{
    node_facts gone;
    gone.node = "a";
    std::ostringstream out;
    verdict v;
    v.text = "All is well.";
    print_text(out, {gone}, {}, {}, v);
    CHECK(out.str() == "a: not connected\n\nAll is well.\n");
}

TEST_CASE("the text shows what is known of a clock", "[cli][doctor]")
{
    const auto line = [](const clock_facts& c) {
        node_facts f = some_node("a");
        f.clock = c;
        std::ostringstream out;
        print_text(out, {f}, {}, {}, {});
        const std::string text = out.str();
        const auto from = text.find("clock");
        return text.substr(from, text.find(", releases") - from);
    };
    CHECK(line({-2ms, 3ms, {}, 0}) == "clock within 5.0 ms of this machine's clock");
    CHECK(line({-2ms, 1ms, {}, 0}) == "clock -2.0 ms (within 1.0 ms)");
    CHECK(line({2h, 1ms, 0.02, 0.001}) ==
          "clock +2.0 hours (within 1.0 ms), its rate +2.0 % (within 0.10 %)");
    CHECK(line({0ns, 1ms, -0.02, 0.001}) ==
          "clock within 1.0 ms of this machine's clock, its rate -2.0 % (within 0.10 %)");
}

TEST_CASE("the text shows how a node releases locks", "[cli][doctor]")
{
    const auto told = [](compare_and_delete by, trial::outcome native) {
        node_facts f = some_node("a");
        f.deletes_by = by;
        f[needed::native_delete].is = native;
        std::ostringstream out;
        print_json(out, {f}, {}, {}, {});
        return nlohmann::json::parse(out.str())["nodes"][0]["releases_by"].get<std::string>();
    };
    using outcome = trial::outcome;
    CHECK(told(compare_and_delete::delifeq, outcome::went) == "DELIFEQ");
    CHECK(told(compare_and_delete::delex, outcome::went) == "DELEX");
    CHECK(told(compare_and_delete::delex, outcome::forbidden) == "EVALSHA");
    CHECK(told(compare_and_delete::script, outcome::untried) == "EVALSHA");
}

TEST_CASE("the JSON has every node and finding and the verdict", "[cli][doctor]")
{
    node_facts gone;
    gone.node = "b\xff";  // not a text of ours, and not the end of the output
    std::ostringstream out;
    verdict v;
    v.nodes = 2;
    v.exit_status = 2;
    v.are = verdict::locks::available_unsafely;
    clock_comparison clocks;
    clocks.dates = clock_gap{"a", "c", 2e6, 1e6, 4e6};
    clocks.dates_matter = true;
    clocks.rates = clock_gap{"c", "a", 3e-6, 4e-6, 7e-6};
    print_json(out, {some_node("a"), gone}, clocks, some_findings, v);
    const auto all = nlohmann::json::parse(out.str());
    REQUIRE(all["nodes"].size() == 2);
    CHECK(all["nodes"][0]["node"] == "a");
    CHECK(all["nodes"][0]["connected"] == true);
    CHECK(all["nodes"][0]["version"] == "7.0.15");
    CHECK(all["nodes"][0]["latency"]["median_ms"] == 0.08);
    CHECK(all["nodes"][0]["clock"]["offset_ms"] == 1.5);
    CHECK(all["nodes"][1]["connected"] == false);
    CHECK(all["clocks"]["dates"]["apart_ms"] == 2.0);
    CHECK(all["clocks"]["dates"]["precision_ms"] == 1.0);
    CHECK(all["clocks"]["dates"]["at_most_ms"] == 4.0);
    CHECK(all["clocks"]["dates"]["ahead"] == "a");
    CHECK(all["clocks"]["dates"]["behind"] == "c");
    CHECK(all["clocks"]["dates"]["matters"] == true);
    CHECK(all["clocks"]["rates"]["apart_ppm"].get<double>() == Catch::Approx(3));
    CHECK(all["clocks"]["rates"]["matters"] == false);
    REQUIRE(all["findings"].size() == 6);
    CHECK(all["findings"][0]["severity"] == "error");
    CHECK(all["findings"][0]["code"] == "evicts");
    CHECK(all["findings"][0]["node"] == "b");
    CHECK(all["findings"][0]["advice"] == "Set noeviction.");
    CHECK(all["findings"][5]["node"].is_null());
    CHECK(all["verdict"]["exit_status"] == 2);
    CHECK(all["verdict"]["locks"] == "available_unsafely");
}
