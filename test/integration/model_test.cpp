#include "sim/model_master.hpp"
#include "support/locks.hpp"
#include "support/resp_client.hpp"
#include "support/resp_text.hpp"
#include "support/run.hpp"
#include "support/server.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

/// Without what one make or age of server adds or words in its own way.
std::string wording(std::string text)
{
    for (const std::string_view addition : {" script: ", " Please use EVAL", ", otherwise the"}) {
        text.erase(std::min(text.size(), text.find(addition)));
    }
    if (const auto at = text.find("Valkey is loading"); at != std::string::npos) {
        text.replace(at, 6, "Redis");
    }
    return text;
}

/// As a server counts them: `client|setname`, `get`.
std::string counted_as(const words& command)
{
    std::string name = command.at(0);
    if (name == "CLIENT" || name == "SCRIPT" || name == "COMMAND") {
        name += "|" + command.at(1);
    }
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
}

/// What INFO says of one thing.
std::string told(std::string_view info, std::string_view field)
{
    const std::size_t at = info.find("\n" + std::string(field) + ":");
    REQUIRE(at != std::string_view::npos);
    info.remove_prefix(at + field.size() + 2);
    return std::string(info.substr(0, info.find('\r')));
}

bool is_run_id(std::string_view text)
{
    return text.size() == 40 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// One real server and one model, each with the same connections, and the same asked of both.
class pair_of_masters {
public:
    pair_of_masters(server& real, std::uint32_t seed) : random_(seed), real_(real)
    {
        for (std::size_t i = 0; i < connections; ++i) {
            ends_.push_back(
                {std::make_unique<resp_client>(real_.socket()), std::make_unique<session>()});
        }
    }

    static constexpr std::size_t connections = 3;

    [[nodiscard]] model_master& model() noexcept { return model_; }
    [[nodiscard]] std::size_t pushes() const noexcept { return pushes_; }
    [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
    /// What was compared, under the names that servers count them by.
    [[nodiscard]] const std::set<std::string>& asked() const noexcept { return asked_; }

    /// To begin with, two speak RESP3, of which one wants pushes, and the third speaks RESP2.
    void greet()
    {
        same(0, {"HELLO", "3"});
        same(1, {"HELLO", "3"});
        same(0, {"CLIENT", "TRACKING", "ON", "OPTIN"});
    }

    void step()
    {
        const std::size_t who = below(connections);
        if (below(2) == 0) {
            same(who, {"CLIENT", "CACHING", "YES"});
        }
        switch (below(8)) {
            case 0: talk_of_oneself(who); return;
            case 1: use_scripts(who); return;
            case 2: let_one_expire(who, any_key()); return;
            case 3: turn_memory(); return;
            default: use_a_key(who, any_key()); return;
        }
    }

    /// Asks both, and compares all that comes of it.
    void same(std::size_t who, const words& command)
    {
        std::string text;
        for (const std::string& w : command) {
            text += w.substr(0, 20) + " ";
        }
        CAPTURE(who, text);
        asked_.insert(counted_as(command));
        const auto before = now();
        const reply real = ends_[who].real->ask(command);
        slowest_ = std::max(slowest_, now() - before);
        std::string modelled = model_.execute(before, *ends_[who].model, command);
        const auto first = parse_reply(modelled);
        REQUIRE(first);
        compare(command, real, first->value);
        modelled.erase(0, first->size);
        ends_[who].model->out.insert(0, modelled);
        for (end& e : ends_) {
            compare_pushes(e);
        }
    }

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

    std::string any_key() { return "k" + std::to_string(below(3)); }
    std::string any_value() { return below(2) == 0 ? "mine" : "theirs"; }
    std::string any_sha1() { return std::string(contract_scripts[below(3)].sha1); }
    std::string any_script() { return std::string(contract_scripts[below(3)].text); }

    /// A ttl that is certain to be longer, or shorter, than what any key has left.
    std::string longer_or_shorter()
    {
        longest_ += 1000;
        return std::to_string(below(2) == 0 ? longest_ : 500'000);
    }

    void use_a_key(std::size_t who, const std::string& key)
    {
        const std::string value = any_value();
        switch (below(18)) {
            case 0: same(who, {"SET", key, value, "NX", "PX", "1000000"}); return;
            case 1: same(who, {"SET", key, value, "NX", "PX", "2000000"}); return;
            case 2: same(who, {"SET", key, value, "XX", "PX", "1000000"}); return;
            case 3: same(who, {"SET", key, value, "NX", "PX", below(2) == 0 ? "0" : "x"}); return;
            case 4: same(who, {"EVALSHA", sha1(0), "1", key, value}); return;
            case 5: same(who, {"EVALSHA", sha1(1), "1", key, value, longer_or_shorter()}); return;
            case 6: same(who, {"EVALSHA", sha1(2), "1", key}); return;
            case 7: same(who, {"EVAL", any_script(), "1", key, value, longer_or_shorter()}); return;
            case 8: same(who, {"PTTL", key}); return;
            case 9: same(who, {"GET", key}); return;
            case 10: same(who, {"EXISTS", key}); return;
            case 11: same(who, {"DEL", key}); return;
            case 12: same(who, {"DEL", "k0", "k1", "k2"}); return;
            case 13: same(who, {"PEXPIRE", key, below(3) == 0 ? "-1" : "900000"}); return;
            case 14: same(who, {"HSET", key, "f", "v"}); return;
            case 15: same(who, {"INCR", below(2) == 0 ? key : "counter"}); return;
            case 16: same(who, {"DELIFEQ", key, value}); return;
            case 17: same(who, {"DELEX", key, "IFEQ", std::string(200, 'v')}); return;
        }
    }

    void use_scripts(std::size_t who)
    {
        switch (below(8)) {
            case 0: same(who, {"SCRIPT", "FLUSH"}); return;
            case 1:
            case 2: same(who, {"SCRIPT", "EXISTS", any_sha1()}); return;
            case 3: same(who, {"SCRIPT", "EXISTS", any_sha1(), "none", any_sha1()}); return;
            default: same(who, {"SCRIPT", "LOAD", any_script()}); return;
        }
    }

    void talk_of_oneself(std::size_t who)
    {
        switch (below(14)) {
            case 0: same(who, {"PING"}); return;
            case 1: same(who, {"INFO"}); return;
            case 2: same(who, {"INFO", "server"}); return;
            case 3: same(who, {"COMMAND", "INFO", "delifeq", "delex"}); return;
            case 4: same(who, {"COMMAND", "INFO", "get", "SET", "none", "evalsha"}); return;
            case 5: same(who, {"AUTH", "default", "any"}); return;
            case 6: same(who, {"AUTH", "any"}); return;
            case 7: same(who, {"SELECT", std::array{"0", "99", "-1", "x"}[below(4)]}); return;
            case 8: same(who, {"CLIENT", "SETNAME", below(2) == 0 ? "some" : "some one"}); return;
            case 9: same(who, {"CLIENT", "CACHING", below(2) == 0 ? "YES" : "NO"}); return;
            case 10: turn_tracking(who); return;
            case 11: same(who, {"FLUSHALL"}); return;
            default: greet_again(who); return;
        }
    }

    void greet_again(std::size_t who)
    {
        const std::string protocol = std::array{"2", "3", "4", "x"}[below(4)];
        switch (below(5)) {
            case 0: same(who, {"HELLO"}); return;
            case 1: same(who, {"HELLO", protocol, "AUTH", "default", "any"}); return;
            case 2: same(who, {"HELLO", protocol, "SETNAME", "some"}); return;
            case 3: same(who, {"HELLO", protocol, "SETNAME", "some one"}); return;
            case 4: same(who, {"HELLO", protocol}); return;
        }
    }

    void turn_tracking(std::size_t who)
    {
        switch (below(4)) {
            case 0: same(who, {"CLIENT", "TRACKING", "OFF"}); return;
            case 1: same(who, {"CLIENT", "TRACKING", "ON"}); return;
            default: same(who, {"CLIENT", "TRACKING", "ON", "OPTIN"}); return;
        }
    }

    static std::string sha1(std::size_t which) { return std::string(contract_scripts[which].sha1); }

    void compare(const words& command, const reply& real, const reply& modelled)
    {
        if (!real.is_error() && command[0] == "HELLO") {
            compare_greetings(real, modelled);
        } else if (!real.is_error() && command[0] == "INFO") {
            compare_infos(command, real, modelled);
        } else if (!real.is_error() && command[0] == "COMMAND") {
            compare_capabilities(real, modelled);
        } else {
            compare(real, modelled);
        }
    }

    /// Of a number that counts down only so much is known: the real server was asked at some moment
    /// until its reply came, and so it was when the number was set.
    void compare(const reply& real, const reply& modelled)
    {
        const auto slack = (std::chrono::ceil<std::chrono::milliseconds>(slowest_) + 2ms).count();
        CAPTURE(real.str(), modelled.str());
        REQUIRE(real.type == modelled.type);
        if (real.is_error()) {
            ++errors_;
        }
        REQUIRE(wording(real.text) == wording(modelled.text));
        const bool counts_down = modelled.integer > 1000;
        REQUIRE((counts_down ? std::abs(real.integer - modelled.integer) <= slack
                             : real.integer == modelled.integer));
        REQUIRE(real.items.size() == modelled.items.size());
        for (std::size_t i = 0; i < real.items.size(); ++i) {
            compare(real.items[i], modelled.items[i]);
        }
    }

    /// Servers differ in what they are and in how they count connections.
    void compare_greetings(const reply& real, const reply& modelled)
    {
        CAPTURE(real.str(), modelled.str());
        REQUIRE(real.type == modelled.type);
        REQUIRE(real.items.size() == modelled.items.size());
        for (std::size_t i = 0; i + 1 < real.items.size(); i += 2) {
            const std::string& key = real.items[i].text;
            REQUIRE(key == modelled.items[i].text);
            REQUIRE(real.items[i + 1].type == modelled.items[i + 1].type);
            if (key != "server" && key != "version" && key != "id") {
                compare(real.items[i + 1], modelled.items[i + 1]);
            }
        }
    }

    /// The model tells the few things that a client of locks could want to know.
    void compare_infos(const words& command, const reply& real, const reply& modelled)
    {
        REQUIRE(real.type == modelled.type);
        for (const reply* r : {&real, &modelled}) {
            REQUIRE(is_run_id(told(r->text, "run_id")));
            REQUIRE_FALSE(told(r->text, "redis_version").empty());
        }
        if (command.size() == 1) {
            REQUIRE(told(real.text, "role") == told(modelled.text, "role"));
        }
    }

    /// Name and arity; real servers go on from there.
    void compare_capabilities(const reply& real, const reply& modelled)
    {
        CAPTURE(real.str(), modelled.str());
        REQUIRE(real.type == modelled.type);
        REQUIRE(real.items.size() == modelled.items.size());
        for (std::size_t i = 0; i < real.items.size(); ++i) {
            reply known = real.items[i];
            known.items.resize(std::min<std::size_t>(known.items.size(), 2));
            compare(known, modelled.items[i]);
        }
    }

    void compare_pushes(end& e)
    {
        while (!e.model->out.empty()) {
            const auto modelled = parse_reply(e.model->out);
            REQUIRE(modelled);
            e.model->out.erase(0, modelled->size);
            compare(e.real->read(), modelled->value);
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
    server& real_;
    model_master model_;
    std::vector<end> ends_;
    const clock_type::time_point began_ = clock_type::now();
    base::nanos slowest_{};
    std::int64_t longest_ = 2'000'000;
    std::size_t pushes_ = 0;
    std::size_t errors_ = 0;
    std::set<std::string> asked_;
};

void take_steps(pair_of_masters& both, std::uint32_t seed, int count)
{
    INFO("to repeat it: test-integration '[model]' --rng-seed " << seed);
    for (int i = 0; i < count; ++i) {
        CAPTURE(i);
        both.step();
    }
}

/// What is asked of a server that does not do all, once by each connection.
void ask_all(pair_of_masters& both)
{
    const auto sha1 = std::string(contract_scripts[0].sha1);
    const auto text = std::string(contract_scripts[0].text);
    for (const words& command :
         std::initializer_list<words>{{"HELLO", "3", "SETNAME", "some"},
                                      {"CLIENT", "TRACKING", "ON", "OPTIN"},
                                      {"CLIENT", "CACHING", "YES"},
                                      {"CLIENT", "SETNAME", "some"},
                                      {"CLIENT", "TRACKING", "OFF"},
                                      {"SELECT", "0"},
                                      {"INFO"},
                                      {"COMMAND", "INFO", "delifeq", "delex"},
                                      {"SCRIPT", "LOAD", text},
                                      {"SCRIPT", "EXISTS", sha1},
                                      {"EVALSHA", sha1, "1", "k", "v"},
                                      {"EVAL", text, "1", "k", "v"},
                                      {"SET", "k", "v", "NX", "PX", "1000"},
                                      {"PTTL", "k"},
                                      {"GET", "k"},
                                      {"PING"},
                                      {"DELIFEQ", "k", "v"},
                                      {"DELEX", "k", "IFEQ", "v"}}) {
        for (std::size_t who = 0; who < pair_of_masters::connections; ++who) {
            both.same(who, command);
        }
    }
}

}  // namespace

TEST_CASE("the simulation's master answers as a real one does", "[integration][model]")
{
    server real({.kind = each_kind()});
    const std::uint32_t seed = GENERATE(1U, 2U, Catch::getSeed());
    pair_of_masters both(real, seed);
    both.greet();
    take_steps(both, seed, 6000);
    CHECK(both.pushes() > 50);
    CHECK(both.errors() > 50);
}

TEST_CASE("so it does while it is loading", "[integration][model]")
{
    server real({.kind = each_kind(),
                 .files = persistence::snapshot,
                 .arguments = {"--loading-process-events-interval-bytes", "1024",
                               "--rdbcompression", "no"}});
    real.command({"DEBUG", "POPULATE", "10000", "key", "1000"});
    real.command({"SAVE"});
    // Slower than a test may be, so that it is not done before, at a key between two commands.
    real.options().arguments.insert(real.options().arguments.end(), {"--key-load-delay", "20000"});
    real.restart(memory::kept, readiness::answering);
    pair_of_masters both(real, 1);
    both.model().is_loading = true;
    ask_all(both);
    CHECK(both.errors() == 10 * pair_of_masters::connections);
    CHECK(told(real.ask({"INFO", "persistence"}).text, "loading") == "1");
}

TEST_CASE("so it does where it wants a password", "[integration][model]")
{
    server real({.kind = each_kind(), .password = "open-sesame"});
    pair_of_masters both(real, 1);
    both.model().password = "open-sesame";
    ask_all(both);
    CHECK(both.errors() == 18 * pair_of_masters::connections);
    for (const words& command :
         std::initializer_list<words>{{"HELLO"},
                                      {"HELLO", "4"},
                                      {"HELLO", "3", "AUTH", "default", "simsim"},
                                      {"AUTH", "simsim"},
                                      {"AUTH", "default", "simsim"},
                                      {"PING"}}) {
        both.same(0, command);
        both.same(1, command);
    }
    both.same(0, {"AUTH", "open-sesame"});
    both.same(0, {"AUTH", "simsim"});
    both.same(0, {"PING"});
    both.same(1, {"AUTH", "default", "open-sesame"});
    both.same(1, {"HELLO"});
    both.same(2, {"HELLO", "3", "AUTH", "default", "open-sesame", "SETNAME", "some"});
    both.same(2, {"GET", "k"});
}

TEST_CASE("all that the library says is compared", "[integration][model]")
{
    const flavour kind = each_kind();
    server real({.kind = kind});
    pair_of_masters both(real, 1);
    both.greet();
    take_steps(both, 1, 3000);
    // One that knows HELLO, and one that is to be told everything in older words.
    for (const words& arguments : {words{}, words{"--rename-command", "HELLO", ""}}) {
        server asked({.kind = kind, .password = "open-sesame", .arguments = arguments});
        config c = patient({asked.url("default", "open-sesame", 1)});
        c.client_name = "some";
        c.ping_interval = 20ms;
        locks mine(c);
        REQUIRE(mine.await_ready(1));
        lock held = mine.take("r");
        CHECK(mine.acquire("r", once()).error == errc::contended);
        CHECK_FALSE(mine.extend(held, 20s));
        CHECK_FALSE(mine.inspect("r").error);
        asked.command({"SCRIPT", "FLUSH"});
        mine.give_back(std::move(held));
        const auto counts = [&] { return asked.command({"INFO", "commandstats"}); };
        REQUIRE(mine.await([&] { return counts().find("cmdstat_ping:") != std::string::npos; }));
        CHECK_FALSE(mine.close());
        const std::string text = counts();
        std::size_t found = 0;
        for (std::size_t at = text.find("cmdstat_"); at != std::string::npos;
             at = text.find("cmdstat_", at + 1)) {
            const std::string name = text.substr(at + 8, text.find(':', at) - at - 8);
            CAPTURE(name);
            CHECK(both.asked().contains(name));
            ++found;
        }
        CHECK(found >= 10);
    }
}
