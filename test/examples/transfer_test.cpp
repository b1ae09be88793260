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

    [[nodiscard]] std::unique_ptr<program> transfer(const std::string& from, const std::string& to,
                                                    const std::string& amount) const
    {
        return std::make_unique<program>("transfer",
                                         with({folder_.path(), from, to, amount}, nodes.urls()));
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
    const bank money;
    std::vector<std::unique_ptr<program>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(money.transfer("a", "b", "10"));
        all.push_back(money.transfer("b", "a", "5"));
    }
    for (const auto& one : all) {
        CHECK(one->process().wait() == 0);
        CHECK(one->said().starts_with("moved "));
    }
    CHECK(money.balance("a") == 80);
    CHECK(money.balance("b") == 120);
    CHECK(money.nodes.count("accounts/a") == 0);
    CHECK(money.nodes.count("accounts/b") == 0);
}

TEST_CASE("a transfer of more than there is moves nothing", "[examples]")
{
    const bank money;
    const auto example = money.transfer("a", "b", "1000");
    CHECK(example->process().wait() == 0);
    CHECK(example->said() == "a has only 100\n");
    CHECK(money.balance("b") == 100);
}

TEST_CASE("a transfer waits while another holder has one of its accounts", "[examples]")
{
    const bank money;
    for (std::size_t i = 0; i < money.nodes.size(); ++i) {
        money.nodes[i].command({"SET", "accounts/b", "somebody", "PX", "600000"});
    }
    const auto example = money.transfer("a", "b", "10");
    CHECK(example->process().wait() == 0);
    const auto said = example->said();
    CAPTURE(said);
    CHECK(said.starts_with("no lock: "));
    CHECK(said.find("accounts/b has another holder on redis://") != std::string::npos);
    CHECK(money.balance("a") == 100);
    CHECK(money.nodes.count("accounts/a") == 0);
}
