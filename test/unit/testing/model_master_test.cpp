#include "testing/model_master.hpp"
#include "testing/contract.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <string_view>

using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view told_of_a = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n";

/// Makes the node notify its client of keys, also of the client's own changes.
void begin_tracking(model_master& m, session& s)
{
    (void)m.execute({}, s, {"HELLO", "3"});
    (void)m.execute({}, s, {"CLIENT", "TRACKING", "ON"});
}

}  // namespace

TEST_CASE("a failed command notifies its own client of the changes and no other client",
          "[testing]")
{
    model_master master;
    session asker;
    session other;
    const redlock::base::instant begin{};
    begin_tracking(master, asker);
    begin_tracking(master, other);
    (void)master.execute(begin, asker, {"SET", "a", "token", "PX", "100"});
    (void)master.execute(begin, asker, {"GET", "a"});
    const std::string release(contract_scripts.front().text);
    // The command meets an expired key before it finds that its token is missing.
    CHECK_THROWS_AS(master.execute(begin + 1s, asker, {"EVAL", release, "1", "a"}), std::exception);
    CHECK(asker.out == told_of_a);
    CHECK(master.execute(begin + 1s, other, {"PING"}) == "+PONG\r\n");
    CHECK(master.execute(begin + 1s, other, {"GET", "b"}) == "_\r\n");
    CHECK(other.out.empty());
}
