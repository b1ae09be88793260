#include "examples/http.hpp"
#include "examples/program.hpp"
#include "support/masters.hpp"
#include "support/port.hpp"

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace redlock::test;

namespace {

/// Longer than any test.
constexpr auto for_ever = "600000";

class service {
public:
    explicit service(const masters& nodes)
        : program_("http_service", with({std::to_string(port_.number())}, nodes.urls()))
    {}

    [[nodiscard]] std::unique_ptr<http_request> charge(const std::string& customer,
                                                       const std::string& milliseconds) const
    {
        return std::make_unique<http_request>(port_.number(), "POST",
                                              "/customers/" + customer + "/charge", milliseconds);
    }

    [[nodiscard]] std::string get(const std::string& target) const
    {
        return http_request(port_.number(), "GET", target).answer();
    }

    [[nodiscard]] program& running() noexcept { return program_; }

private:
    reserved_port port_;
    program program_;
};

bool has_status(const std::string& answer, const std::string& status)
{
    return answer.starts_with("HTTP/1.1 " + status + ' ');
}

}  // namespace

TEST_CASE("requests of one customer are served one after the other", "[examples]")
{
    const masters nodes(3);
    service example(nodes);
    std::vector<std::unique_ptr<http_request>> requests;
    for (int i = 0; i < 5; ++i) {
        requests.push_back(example.charge("7", "20"));
    }
    for (const auto& one : requests) {
        CHECK(has_status(one->answer(), "200"));
    }
    std::string expected;
    for (int i = 0; i < 5; ++i) {
        expected += "customers/7: begins\ncustomers/7: ends\n";
    }
    CHECK(example.running().said() == expected);
    CHECK(nodes.count("customers/7") == 0);
}

TEST_CASE("a request waits for none of another customer, and no longer than its deadline",
          "[examples]")
{
    const masters nodes(3);
    service example(nodes);
    service other(nodes);
    const auto first = example.charge("7", for_ever);
    REQUIRE(example.running().says("customers/7: begins\n"));

    CHECK(has_status(example.charge("8", "1")->answer(), "200"));
    CHECK(has_status(other.charge("9", "1")->answer(), "200"));
    for (const auto* one : {&example, &other}) {
        const auto answer = one->charge("7", "1")->answer();
        CAPTURE(answer);
        CHECK(has_status(answer, "409"));
        CHECK(answer.ends_with("The timeout passed before the lock was acquired\n"));
    }
    CHECK(!example.running().has_said("customers/7: ends"));
}

TEST_CASE("a client that goes away frees the lock, and one that waited is no longer in line",
          "[examples]")
{
    const masters nodes(3);
    service example(nodes);
    const auto first = example.charge("7", for_ever);
    REQUIRE(example.running().says("customers/7: begins\n"));
    const auto second = example.charge("7", for_ever);
    const auto third = example.charge("7", "1");
    second->go_away();
    first->go_away();
    REQUIRE(example.running().says("customers/7: ends\n"));
    CHECK(has_status(third->answer(), "200"));
    CHECK(wait_for([&] { return nodes.count("customers/7") == 0; }));
}

TEST_CASE("without a majority there is no lock, and the service says so", "[examples]")
{
    masters nodes(3);
    service example(nodes);
    nodes[0].kill();
    nodes[1].kill();
    CHECK(has_status(example.charge("7", "1")->answer(), "503"));
    CHECK(has_status(example.get("/customers/7/charge"), "404"));
    CHECK(has_status(example.get("/customers/charge"), "404"));
}

TEST_CASE("a service that is told to end finishes what it has begun", "[examples]")
{
    const masters nodes(3);
    service example(nodes);
    const auto first = example.charge("7", "300");
    REQUIRE(example.running().says("customers/7: begins\n"));
    example.running().process().terminate();
    CHECK(has_status(first->answer(), "200"));
    CHECK(example.running().process().wait() == 0);
    CHECK(nodes.count("customers/7") == 0);
}
