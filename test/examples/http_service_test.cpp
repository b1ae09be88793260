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

    /// The answer to a charge, which is made again after a 503. The service answers so when nodes
    /// were late, or when the service paused until its lock ended.
    [[nodiscard]] std::string charge_in_time(const std::string& customer,
                                             const std::string& milliseconds) const
    {
        std::string last;
        (void)wait_for([&] {
            last = charge(customer, milliseconds)->answer();
            return !last.starts_with("HTTP/1.1 503 ");
        });
        return last;
    }

    /// A charge that works under its lock. It is made again if the service got no lock within two
    /// seconds and answers.
    [[nodiscard]] std::unique_ptr<http_request> begin_charge(const std::string& customer,
                                                             const std::string& milliseconds) const
    {
        const std::string begins = "customers/" + customer + ": begins\n";
        std::unique_ptr<http_request> last;
        REQUIRE(wait_for([&] {
            last = charge(customer, milliseconds);
            (void)wait_for([&] { return last->is_answered() || program_.has_said(begins); });
            return program_.has_said(begins);
        }));
        return last;
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

TEST_CASE("the service handles requests of one customer one after the other", "[examples]")
{
    const masters nodes(3);
    // Each request has two seconds for its lock, which may be too little on a busy machine.
    const auto all_are_in_time = [&] {
        service example(nodes);
        std::vector<std::unique_ptr<http_request>> requests;
        for (int i = 0; i < 5; ++i) {
            requests.push_back(example.charge("7", "20"));
        }
        std::string expected;
        bool in_time = true;
        for (const auto& one : requests) {
            const auto answer = one->answer();
            const bool is_late = has_status(answer, "503") || has_status(answer, "409");
            CHECK((is_late || has_status(answer, "200")));
            in_time = in_time && !is_late;
            expected += "customers/7: begins\ncustomers/7: ends\n";
        }
        if (in_time) {
            CHECK(example.running().said() == expected);
            CHECK(nodes.count("customers/7") == 0);
        }
        return in_time;
    };
    CHECK(wait_for(all_are_in_time));
}

TEST_CASE("a request does not wait for other customers and waits no longer than its deadline",
          "[examples]")
{
    const masters nodes(3);
    const auto first_keeps_its_lock = [&] {
        service example(nodes);
        service other(nodes);
        const auto first = example.begin_charge("7", for_ever);

        CHECK(has_status(example.charge_in_time("8", "1"), "200"));
        CHECK(has_status(other.charge_in_time("9", "1"), "200"));
        std::vector<std::string> answers;
        for (const auto* one : {&example, &other}) {
            answers.push_back(one->charge_in_time("7", "1"));
        }
        // The service keeps its lock alive, with a ttl of two seconds. If the service pauses for
        // that long, the first request is answered, and the test shows nothing.
        if (example.running().has_said("customers/7: ends")) {
            CHECK(has_status(first->answer(), "503"));
            return false;
        }
        for (const auto& answer : answers) {
            CAPTURE(answer);
            CHECK(has_status(answer, "409"));
            CHECK(answer.ends_with("The timeout passed before the lock was acquired\n"));
        }
        return true;
    };
    CHECK(wait_for(first_keeps_its_lock));
}

TEST_CASE("a client that disconnects frees the lock or leaves the wait queue", "[examples]")
{
    const masters nodes(3);
    // The third request has two seconds for its lock, which may be too little on a busy machine.
    const auto third_is_in_time = [&] {
        service example(nodes);
        const auto first = example.begin_charge("7", for_ever);
        const auto second = example.charge("7", for_ever);
        const auto third = example.charge("7", "1");
        second->go_away();
        first->go_away();
        REQUIRE(example.running().says("customers/7: ends\n"));
        const auto answer = third->answer();
        const bool is_late = has_status(answer, "503") || has_status(answer, "409");
        CHECK((is_late || has_status(answer, "200")));
        CHECK(wait_for([&] { return nodes.count("customers/7") == 0; }));
        return !is_late;
    };
    CHECK(wait_for(third_is_in_time));
}

TEST_CASE("the service without a majority gets no lock and says so", "[examples]")
{
    masters nodes(3);
    service example(nodes);
    nodes[0].kill();
    nodes[1].kill();
    CHECK(has_status(example.charge("7", "1")->answer(), "503"));
    CHECK(has_status(example.get("/customers/7/charge"), "404"));
    CHECK(has_status(example.get("/customers/charge"), "404"));
}

TEST_CASE("a service that is asked to end completes the requests it has begun", "[examples]")
{
    const masters nodes(3);
    std::string answer;
    for (int run = 0; run < 5 && !has_status(answer, "200"); ++run) {
        service example(nodes);
        const auto first = example.begin_charge("7", "300");
        example.running().process().terminate();
        answer = first->answer();
        // The lock lives for two seconds. A busy machine may take longer for the work of 300 ms.
        const bool is_lost = has_status(answer, "503") && answer.ends_with("The lock is lost\n");
        CHECK((is_lost || has_status(answer, "200")));
        CHECK(example.running().process().wait() == 0);
        CHECK((is_lost || nodes.count("customers/7") == 0));
    }
    CHECK(has_status(answer, "200"));
}
