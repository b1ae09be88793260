#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <memory>

using namespace redlock::test;

namespace {

class bank {
public:
    bank()
    {
        std::ofstream(folder_ / "a") << 100;
        std::ofstream(folder_ / "b") << 100;
    }

    /// The arguments of a transfer.
    [[nodiscard]] std::vector<std::string> order(const std::string& from, const std::string& to,
                                                 const std::string& amount) const
    {
        return with({folder_.path(), from, to, amount}, nodes.urls());
    }

    [[nodiscard]] long balance(const std::string& account) const
    {
        long result = -1;
        std::ifstream(folder_ / account) >> result;
        return result;
    }

    const masters nodes{3};

private:
    temp_dir folder_;
};

}  // namespace

TEST_CASE("transfers in both directions at the same time lose no money", "[examples]")
{
    // All eight transfers have ten seconds for their locks. A late one moves nothing, and the round
    // is repeated.
    bool is_late = true;
    for (int round = 0; round < 3 && is_late; ++round) {
        const bank money;
        std::vector<std::unique_ptr<program>> all;
        for (int i = 0; i < 4; ++i) {
            all.push_back(std::make_unique<program>("transfer", money.order("a", "b", "10")));
            all.push_back(std::make_unique<program>("transfer", money.order("b", "a", "5")));
        }
        is_late = false;
        for (const auto& one : all) {
            CHECK(one->process().wait() == 0);
            const bool has_no_lock = one->said().starts_with("no lock: " + timeout_passed);
            CHECK((has_no_lock || one->said().starts_with("moved ")));
            is_late = is_late || has_no_lock;
        }
        CHECK(money.balance("a") + money.balance("b") == 200);
        if (!is_late) {
            CHECK(money.balance("a") == 80);
            CHECK(money.balance("b") == 120);
            CHECK(money.nodes.count("accounts/a") == 0);
            CHECK(money.nodes.count("accounts/b") == 0);
        }
    }
    CHECK_FALSE(is_late);
}

TEST_CASE("a transfer of more than the balance moves nothing", "[examples]")
{
    const bank money;
    const auto example =
        run_in_time("transfer", money.order("a", "b", "1000"), {no_majority, timeout_passed});
    CHECK(example.status == 0);
    CHECK(example.said == "a has only 100\n");
    CHECK(money.balance("b") == 100);
}

TEST_CASE("a transfer waits while another holder has one of its accounts", "[examples]")
{
    const bank money;
    for (std::size_t i = 0; i < money.nodes.size(); ++i) {
        money.nodes[i].command({"SET", "accounts/b", "somebody", "PX", "600000"});
    }
    // The program names the nodes' answers to its last attempt, which may be late.
    CHECK(wait_for([&] {
        program example("transfer", money.order("a", "b", "10"));
        CHECK(example.process().wait() == 0);
        CHECK(example.said().starts_with("no lock: "));
        return example.has_said("accounts/b has another holder on redis://");
    }));
    CHECK(money.balance("a") == 100);
    CHECK(money.nodes.count("accounts/a") == 0);
}
