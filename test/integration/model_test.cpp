#include "sim/model_master.hpp"
#include "support/locks.hpp"
#include "support/resp_client.hpp"
#include "support/resp_text.hpp"
#include "support/run.hpp"
#include "support/server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

/// One real server and one model, each with the same connections, and the same asked of both.
class pair_of_masters {
public:
    explicit pair_of_masters(std::uint32_t seed) : random_(seed), real_({.kind = each_kind()})
    {
        for (int i = 0; i < 3; ++i) {
            ends_.push_back({real_.connect(), std::make_unique<session>()});
        }
        // Two speak RESP3, of which one wants pushes; the third speaks RESP2.
        for (const std::size_t i : {0U, 1U}) {
            (void)ends_[i].real->ask({"HELLO", "3"});
            (void)model_.execute(now(), *ends_[i].model, {"HELLO", "3"});
        }
        same(0, {"CLIENT", "TRACKING", "ON", "OPTIN"});
    }

    void step()
    {
        const std::size_t who = below(3);
        const std::string key = "k" + std::to_string(below(3));
        const std::string value = below(2) == 0 ? "mine" : "theirs";
        if (who == 0 && below(2) == 0) {
            same(0, {"CLIENT", "CACHING", "YES"});
        }
        switch (below(16)) {
            case 0: same(who, {"SET", key, value, "NX", "PX", "100000"}); return;
            case 1: same(who, {"SET", key, value, "NX", "PX", "200000"}); return;
            case 2: same(who, {"SET", key, value, "XX", "PX", "100000"}); return;
            case 3: same(who, {"EVALSHA", sha1(0), "1", key, value}); return;
            case 4: same(who, {"EVALSHA", sha1(1), "1", key, value, longer_or_shorter()}); return;
            case 5: same(who, {"EVALSHA", sha1(2), "1", key}); return;
            case 6: same(who, {"EVAL", any_script(), "1", key, value, longer_or_shorter()}); return;
            case 7: same(who, {"SCRIPT", "LOAD", any_script()}); return;
            case 8: same(who, below(4) == 0 ? words{"SCRIPT", "FLUSH"} : words{"PING"}); return;
            case 9: same(who, {"PTTL", key}); return;
            case 10: same(who, {"GET", key}); return;
            case 11: same(who, {"DEL", key}); return;
            case 12: same(who, {"PEXPIRE", key, below(3) == 0 ? "-1" : "90000"}); return;
            case 13: same(who, {"HSET", key, "f", "v"}); return;
            case 14: let_one_expire(who, key); return;
            case 15: turn_memory(); return;
        }
    }

    [[nodiscard]] std::size_t pushes() const noexcept { return pushes_; }
    [[nodiscard]] std::size_t errors() const noexcept { return errors_; }

private:
    struct end {
        std::unique_ptr<resp_client> real;
        std::unique_ptr<session> model;
    };

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_()) % n; }

    [[nodiscard]] base::instant now() const
    {
        return base::instant{} + 1000h + (clock_type::now() - began_);
    }

    static std::string sha1(std::size_t which) { return std::string(contract_scripts[which].sha1); }
    std::string any_script() { return std::string(contract_scripts[below(3)].text); }

    /// A ttl that is certain to be longer, or shorter, than what any key has left.
    std::string longer_or_shorter()
    {
        longest_ += 1000;
        return std::to_string(below(2) == 0 ? longest_ : 50'000);
    }

    /// Asks both, and compares all that comes of it.
    void same(std::size_t who, const words& command)
    {
        std::string text;
        for (const std::string& w : command) {
            text += w.substr(0, 20) + " ";
        }
        CAPTURE(who, text);
        const auto before = now();
        const reply real = ends_[who].real->ask(command);
        const auto slack = std::chrono::ceil<std::chrono::milliseconds>(now() - before) + 2ms;
        std::string modelled = model_.execute(before, *ends_[who].model, command);
        const auto first = parse_reply(modelled);
        REQUIRE(first);
        compare(real, first->value, slack.count());
        modelled.erase(0, first->size);
        ends_[who].model->out.insert(0, modelled);
        for (end& e : ends_) {
            compare_pushes(e);
        }
    }

    /// Of a number that counts down only so much is known.
    void compare(const reply& real, const reply& modelled, std::int64_t slack)
    {
        CAPTURE(real.str(), modelled.str());
        REQUIRE(real.type == modelled.type);
        if (real.is_error()) {
            ++errors_;
            REQUIRE(real.text.substr(0, real.text.find(' ')) ==
                    modelled.text.substr(0, modelled.text.find(' ')));
            return;
        }
        REQUIRE(real.text == modelled.text);
        const bool counts_down = modelled.integer > 1000;
        REQUIRE((counts_down ? std::abs(real.integer - modelled.integer) <= slack
                             : real.integer == modelled.integer));
        REQUIRE(real.items.size() == modelled.items.size());
        for (std::size_t i = 0; i < real.items.size(); ++i) {
            compare(real.items[i], modelled.items[i], slack);
        }
    }

    void compare_pushes(end& e)
    {
        while (!e.model->out.empty()) {
            const auto modelled = parse_reply(e.model->out);
            REQUIRE(modelled);
            e.model->out.erase(0, modelled->size);
            compare(e.real->read(), modelled->value, 0);
            ++pushes_;
        }
    }

    /// A short life, and the end of it on both sides.
    void let_one_expire(std::size_t who, const std::string& key)
    {
        same(who, {"PEXPIRE", key, "1"});
        REQUIRE(wait_for([&] { return real_.ask({"EXISTS", key}).integer == 0; }));
        model_.expire(now() + 1ms);
        for (end& e : ends_) {
            compare_pushes(e);
        }
    }

    /// None to spare, or enough again.
    void turn_memory()
    {
        model_.is_full = !model_.is_full;
        (void)real_.ask({"CONFIG", "SET", "maxmemory", model_.is_full ? "1" : "0"});
    }

    std::mt19937 random_;
    server real_;
    model_master model_;
    std::vector<end> ends_;
    const clock_type::time_point began_ = clock_type::now();
    std::int64_t longest_ = 200'000;
    std::size_t pushes_ = 0;
    std::size_t errors_ = 0;
};

}  // namespace

TEST_CASE("the simulation's master answers as a real one does", "[integration][model]")
{
    const std::uint32_t seed = std::random_device{}();
    CAPTURE(seed);
    pair_of_masters both(seed);
    for (int i = 0; i < 3000; ++i) {
        CAPTURE(i);
        both.step();
    }
    CHECK(both.pushes() > 50);
    CHECK(both.errors() > 50);
}
