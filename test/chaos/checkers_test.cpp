#include "chaos/catalogue.hpp"
#include "chaos/chronicle.hpp"
#include "chaos/clock_dial.hpp"
#include "chaos/clock_page.hpp"
#include "chaos/history.hpp"
#include "chaos/probe.hpp"
#include "chaos/report.hpp"
#include "chaos/watch.hpp"

#include "support/run.hpp"
#include "support/server.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::chaos;

namespace {

constexpr nanos second = 1'000'000'000;

/// Writes the records of one worker of a process, with times in seconds.
class author {
public:
    author(chronicle& to, unsigned process, std::uint16_t worker = 0)
        : to_(to),
          process_(process),
          worker_(worker)
    {}

    author& says(nanos at, event what, std::int64_t value = 0, reason why = reason::none)
    {
        const bool is_time = what == event::acquired || what == event::extended ||
                             what == event::acquire_begins || what == event::extend_begins ||
                             what == event::gives_back || what == event::stood_still ||
                             what == event::renewed;
        to_.add(process_, {at * second, is_time ? value * second : value, worker_, 7, what, why});
        return *this;
    }

    author& takes(nanos at, nanos until)
    {
        return says(at, event::acquire_begins).says(at, event::acquired, until);
    }

private:
    chronicle& to_;
    unsigned process_;
    std::uint16_t worker_;
};

findings good_findings()
{
    findings f;
    f.counts.acquired = f.counts.renewed = f.counts.written = f.updates_judged = f.tokens = 1;
    f.time = 20 * second;
    f.watched.counted = 10 * second;
    f.watched.own = {.patience = 3 * second, .unbroken = 3 * second + 1};
    f.watched.shared = {.patience = 6 * second, .unbroken = 6 * second + 1};
    return f;
}

bool verdict(demand wanted, const findings& f)
{
    std::ostringstream out;
    return print_verdict(out, wanted, f);
}

/// The run fails for this reason.
bool is_about_nothing(demand wanted, const findings& f, std::string_view reason)
{
    std::ostringstream out;
    return !print_verdict(out, wanted, f) &&
           out.str().find("the run is about nothing: " + std::string(reason)) != std::string::npos;
}

}  // namespace

TEST_CASE("the checker sees two beliefs in one lock that overlap for an instant", "[chaos]")
{
    chronicle c;
    author(c, 1).takes(10, 20);
    SECTION("the second begins while the first is valid")
    {
        author(c, 2).takes(19, 25);
        REQUIRE(overlaps(c.leases()).size() == 1);
    }
    SECTION("the second begins when the first has ended")
    {
        author(c, 2).takes(20, 25);
        REQUIRE(overlaps(c.leases()).empty());
    }
    SECTION("both in one process")
    {
        author(c, 1, 1).takes(19, 25);
        REQUIRE(overlaps(c.leases()).size() == 1);
    }
    SECTION("a third one after a short second one")
    {
        author(c, 2).takes(11, 12);
        author(c, 3).takes(13, 14);
        REQUIRE(overlaps(c.leases()).size() == 2);
    }
}

TEST_CASE("a belief ends with any release or else with the validity", "[chaos]")
{
    chronicle c;
    author one(c, 1);
    one.takes(10, 20);
    SECTION("a release that ends with an error")
    {
        one.says(12, event::gives_back).says(13, event::given_back, 0, reason::unavailable);
        author(c, 2).takes(12, 22);
        REQUIRE(overlaps(c.leases()).empty());
    }
    SECTION("a process that is killed")
    {
        c.died(1, 11 * second);
        author(c, 2).takes(12, 22);
        REQUIRE(overlaps(c.leases()).size() == 1);
        REQUIRE(c.open_operations().empty());
    }
    SECTION("a lock that is extended")
    {
        one.says(15, event::extend_begins).says(16, event::extended, 30);
        author(c, 2).takes(25, 35);
        REQUIRE(overlaps(c.leases()).size() == 1);
    }
    SECTION("a lock that is kept alive")
    {
        one.says(16, event::renewed, 30);
        author(c, 2).takes(25, 35);
        REQUIRE(overlaps(c.leases()).size() == 1);
        REQUIRE(c.counts().renewed == 1);
    }
    SECTION("an extend that fails")
    {
        one.says(15, event::extend_begins).says(16, event::not_extended, 0, reason::unavailable);
        author(c, 2).takes(25, 35);
        REQUIRE(overlaps(c.leases()).empty());
    }
    SECTION("a release after the validity")
    {
        one.says(28, event::gives_back).says(29, event::given_back, 0, reason::not_held);
        author(c, 2).takes(25, 35);
        REQUIRE(overlaps(c.leases()).empty());
    }
}

TEST_CASE("a failed acquire gives no belief", "[chaos]")
{
    chronicle c;
    author(c, 1).takes(10, 20);
    author(c, 2)
        .says(11, event::acquire_begins)
        .says(12, event::not_acquired, 0, reason::unavailable);
    REQUIRE(overlaps(c.leases()).empty());
    REQUIRE(c.leases().size() == 1);
    REQUIRE(c.counts().not_acquired[static_cast<std::size_t>(reason::unavailable)] == 1);
}

TEST_CASE("the checker misses an element that was written and is gone", "[chaos]")
{
    chronicle c;
    author(c, 1).takes(10, 20).says(11, event::reads).says(12, event::wrote, 5);
    author(c, 2).takes(20, 30).says(21, event::reads).says(22, event::wrote, 6);
    REQUIRE(c.written(7).size() == 2);
    REQUIRE(c.written(8).empty());
    REQUIRE(missing(c.written(7), std::vector<std::uint64_t>{6, 5, 4}).empty());
    REQUIRE(missing(c.written(7), std::vector<std::uint64_t>{6}) == std::vector<std::uint64_t>{5});
    REQUIRE(overlaps(c.steps()).empty());
}

TEST_CASE("an update must be there unless it overlaps with a late write", "[chaos]")
{
    using elements = std::vector<std::uint64_t>;
    chronicle c;
    const auto writes = [&](unsigned process, nanos from, nanos until, int element,
                            event how = event::wrote) {
        author(c, process).says(from, event::reads).says(until, how, element);
    };
    writes(1, 10, 11, 1);
    writes(2, 12, 20, 2, event::wrote_late);
    writes(3, 11, 13, 3);
    writes(3, 14, 15, 4);
    writes(3, 19, 21, 5);
    writes(4, 11, 21, 6);
    writes(4, 21, 22, 7);
    writes(5, 30, 31, 8, event::wrote_late);
    writes(1, 32, 33, 9);
    REQUIRE(c.counts().late == 2);
    REQUIRE(c.written(7) == elements{1, 2, 3, 4, 5, 6, 7, 8, 9});
    REQUIRE(c.written_apart_from_late(7) == elements{1, 7, 9});
    REQUIRE(c.written_apart_from_late(8).empty());
    // Each resource separately.
    c.add(1, {14 * second, 0, 0, 8, event::reads, reason::none});
    c.add(1, {15 * second, 10, 0, 8, event::wrote, reason::none});
    REQUIRE(c.written_apart_from_late(8) == elements{10});
    // Without late writes all of them.
    writes(1, 34, 36, 11);
    writes(2, 35, 37, 12);
    REQUIRE(c.written_apart_from_late(7) == elements{1, 7, 9, 11, 12});
}

TEST_CASE("the chronicle knows open operations and the longest one", "[chaos]")
{
    chronicle c;
    author one(c, 1);
    one.says(10, event::acquire_begins);
    REQUIRE(c.open_operations().size() == 1);
    one.says(50, event::acquired, 60).says(51, event::gives_back);
    REQUIRE(c.longest_operation() == 40 * second);
    REQUIRE(c.open_operations().size() == 1);
    one.says(52, event::given_back);
    REQUIRE(c.open_operations().empty());
}

TEST_CASE("an operation is late after its own deadline plus the pauses of its process", "[chaos]")
{
    chronicle c;
    author one(c, 1);
    const auto late = [&] { return c.overdue(3 * second).size(); };
    SECTION("each operation by its own limit")
    {
        one.says(10, event::acquire_begins, 5).says(18, event::acquired, 30);
        one.says(18, event::extend_begins, 1).says(22, event::not_extended);
        REQUIRE(late() == 0);
        REQUIRE(c.most_overdue() == 3 * second);
        one.says(25, event::gives_back, 1).says(30, event::given_back);
        REQUIRE(late() == 1);
        REQUIRE(c.overdue(3 * second).front().begun == 25 * second);
        REQUIRE(c.most_overdue() == 4 * second);
        one.says(40, event::acquire_begins, 5).says(49, event::not_acquired);
        REQUIRE(late() == 2);
        one.says(50, event::acquire_begins, 5).says(55, event::not_acquired);
        REQUIRE(late() == 2);
    }
    SECTION("the process reports its pause afterwards")
    {
        one.says(10, event::acquire_begins, 5).says(40, event::acquired, 60);
        REQUIRE(late() == 1);
        author(c, 2).says(40, event::stood_still, 30);
        REQUIRE(late() == 1);  // another process reported that
        author(c, 1, 9).says(39, event::stood_still, 20);
        REQUIRE(late() == 1);
        author(c, 1, 9).says(18, event::stood_still, 4);
        REQUIRE(c.most_overdue() == second);
        REQUIRE(late() == 0);
    }
    SECTION("only the part of a pause during the operation counts")
    {
        author(c, 1, 9).says(12, event::stood_still, 10);
        one.says(10, event::acquire_begins, 5).says(21, event::acquired, 60);
        author(c, 1, 9).says(31, event::stood_still, 11);
        REQUIRE(c.most_overdue() == 3 * second);
    }
    SECTION("the process was killed before the operation ended")
    {
        one.says(10, event::acquire_begins, 5);
        author(c, 1, 1).says(10, event::acquire_begins, 5).says(12, event::not_acquired);
        SECTION("in time")
        {
            c.died(1, 18 * second);
            REQUIRE(late() == 0);
        }
        SECTION("too late")
        {
            c.died(1, 19 * second);
            REQUIRE(late() == 1);
        }
    }
}

TEST_CASE("the watch complains about a client without progress that could have had some", "[chaos]")
{
    progress_watch watch(std::chrono::seconds(3), std::chrono::seconds(6));
    const nanos step = second / 10;
    // Returns the time of the first complaint within ten seconds, or 0.
    const auto first = [&](auto&& majority, auto&& sight) {
        for (nanos at = second; at < 11 * second; at += step) {
            if (watch.look(at, majority(at), {{sight(at)}, {}})) {
                return at;
            }
        }
        return nanos{0};
    };
    const auto always = [](nanos) { return true; };
    const auto stuck = [](nanos) { return outlook::client{true, 0, 0}; };
    SECTION("without progress")
    {
        REQUIRE(first(always, stuck) == 4 * second + step);
        REQUIRE(watch.seen().own.longest_without > 3 * second);
    }
    SECTION("with progress")
    {
        REQUIRE(first(always, [&](nanos at) {
                    return outlook::client{true, 0, at - 2 * second};
                }) == 0);
        REQUIRE(watch.seen().counted == 10 * second - step);
        REQUIRE(watch.seen().own.unbroken == 10 * second - step);
    }
    SECTION("without a majority for a moment every other second")
    {
        REQUIRE(first([&](nanos at) { return at % (2 * second) != 0; }, stuck) == 0);
        REQUIRE(watch.seen().counted == 10 * second - 6 * step);
        REQUIRE(watch.seen().own.unbroken == 2 * second - step);
    }
    SECTION("while the client is stopped")
    {
        REQUIRE(first(always, [](nanos) { return outlook::client{}; }) == 0);
        REQUIRE(watch.seen().own.unbroken == 0);
    }
    SECTION("when the client has just continued")
    {
        REQUIRE(first(always, [&](nanos) {
                    return outlook::client{true, 5 * second, 0};
                }) == 8 * second + step);
    }
    SECTION("when the watch itself is late")
    {
        for (nanos at = second; at < 11 * second; at += second) {
            REQUIRE_FALSE(watch.look(at, true, {{stuck(at)}, {}}));
        }
        REQUIRE(watch.seen().counted == 0);
        REQUIRE(watch.seen().own.unbroken == 0);
    }
}

TEST_CASE("the watch complains about a contended lock that no client has", "[chaos]")
{
    progress_watch watch(std::chrono::seconds(3), std::chrono::seconds(6));
    const nanos step = second / 10;
    std::string complaint;
    nanos gaps = 100 * second;  // how often there is no majority for a moment
    // Returns the time of the first complaint within twelve seconds, or 0, with two such locks.
    const auto first = [&](auto&& clients, auto&& second_lock) {
        for (nanos at = second; at < 13 * second; at += step) {
            const bool majority = at % gaps != 0;
            if (const auto said =
                    watch.look(at, majority, {clients(at), {{at, at}, {0, second_lock(at)}}})) {
                complaint = *said;
                return at;
            }
        }
        return nanos{0};
    };
    using clients = std::vector<outlook::client>;
    // Each client gets the lock of its own.
    const auto one = [](nanos at) { return clients{{true, 0, at}, {false, 0, 0}}; };
    const auto never = [](nanos) { return nanos{0}; };
    SECTION("never held")
    {
        REQUIRE(first(one, never) == 7 * second + step);
        REQUIRE(complaint.find("the contended lock 1 for 6100 ms") != std::string::npos);
        REQUIRE(watch.seen().shared.longest_without == 6 * second + step);
        REQUIRE(watch.seen().own.longest_without == 0);
    }
    SECTION("without a majority for a moment every five seconds")
    {
        gaps = 5 * second;
        REQUIRE(first(one, never) == 0);
        REQUIRE(watch.seen().shared.unbroken == 5 * second - step);
    }
    SECTION("held every five seconds")
    {
        REQUIRE(first(one, [](nanos at) { return at / (5 * second) * (5 * second); }) == 0);
        REQUIRE(watch.seen().shared.unbroken == 12 * second - step);
    }
    SECTION("not held any more")
    {
        REQUIRE(first(one, [](nanos at) { return std::min(at, 3 * second); }) == 9 * second + step);
    }
    SECTION("while one client or another runs")
    {
        const auto in_turn = [](nanos at) {
            const nanos turn = at / second * second;
            return clients{{true, turn, at}, {true, turn - second / 2, at}};
        };
        REQUIRE(first(in_turn, never) == 0);
        REQUIRE(watch.seen().shared.unbroken == second + second / 2 - step);
    }
    SECTION("while no client runs")
    {
        REQUIRE(first([](nanos) { return clients(2); }, never) == 0);
        REQUIRE(watch.seen().shared.unbroken == 0);
    }
}

TEST_CASE("service is back once each client has its own lock and each shared lock was taken",
          "[chaos]")
{
    outlook all;
    all.clients = {{true, 0, 5}, {true, 0, 6}};
    all.shared = {{7, 9}, {5, 9}};
    REQUIRE(not_taken_since(5, all).empty());
    SECTION("a client has not taken its own lock")
    {
        all.clients[1].last_acquired = 4;
        REQUIRE(not_taken_since(5, all) == "that of client 1");
    }
    SECTION("a client is not running")
    {
        all.clients[0].goes = false;
        REQUIRE(not_taken_since(5, all) == "that of client 0");
    }
    SECTION("no client has taken a shared lock")
    {
        all.shared[1].last_acquired = 4;
        all.clients[1].last_acquired = 4;
        REQUIRE(not_taken_since(5, all) == "that of client 1, contended 1");
    }
}

TEST_CASE("the chronicle knows when any process last took a lock", "[chaos]")
{
    chronicle c;
    REQUIRE(c.last_acquired(7) == 0);
    author(c, 1).takes(20, 30);
    author(c, 2).takes(10, 20);
    c.add(3, {40 * second, 50 * second, 0, 8, event::acquired, reason::none});
    REQUIRE(c.last_acquired(7) == 20 * second);
    REQUIRE(c.last_acquired(2, 7) == 10 * second);
    REQUIRE(c.last_acquired(3, 7) == 0);
}

TEST_CASE("the chronicle knows until when any process has a lock", "[chaos]")
{
    chronicle c;
    REQUIRE(c.held_until(7) == 0);
    author(c, 1).takes(10, 30).says(20, event::gives_back);
    REQUIRE(c.held_until(7) == 20 * second);
    author(c, 2).takes(21, 40);
    REQUIRE(c.held_until(7) == 40 * second);
    author(c, 2).says(22, event::gives_back);
    author(c, 3).takes(15, 19).says(20, event::gives_back);
    REQUIRE(c.held_until(7) == 22 * second);
    REQUIRE(c.held_until(8) == 0);
}

TEST_CASE("a reader of a growing file waits for the rest of a torn record", "[chaos]")
{
    const redlock::test::temp_dir folder;
    const auto path = folder / "history";
    const history_file file(path);
    history_tail tail(path);
    REQUIRE(tail.read().empty());
    file.add({1, 2, 3, 4, event::acquired, reason::none});
    file.add({5, 6, 7, 8, event::not_acquired, reason::expired});
    const auto all = tail.read();
    REQUIRE(all.size() == 2);
    REQUIRE(all[1].at == 5);
    REQUIRE(all[1].why == reason::expired);
    file.add({9, 0, 0, 0, event::gives_back, reason::none});
    const auto size = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, size - 1);
    REQUIRE(tail.read().empty());
    std::filesystem::resize_file(path, size);
    REQUIRE(tail.read().size() == 1);
    REQUIRE(tail.read().empty());
}

TEST_CASE("a verdict fails with each of its demands", "[chaos]")
{
    auto f = good_findings();
    REQUIRE(verdict(demand::safety_and_progress, f));
    REQUIRE(verdict(demand::safety_and_recovery, f));
    REQUIRE_FALSE(verdict(demand::double_lease, f));
    REQUIRE_FALSE(verdict(demand::lost_update, f));
    SECTION("a complaint")
    {
        f.complaints.emplace_back("something");
        REQUIRE_FALSE(verdict(demand::safety_and_progress, f));
        REQUIRE_FALSE(verdict(demand::safety_and_recovery, f));
        f.double_leases.emplace_back();
        REQUIRE_FALSE(verdict(demand::double_lease, f));
        f.double_leases.clear();
        f.lost_updates = 1;
        REQUIRE_FALSE(verdict(demand::lost_update, f));
    }
    SECTION("two beliefs overlap")
    {
        f.double_leases.emplace_back();
        REQUIRE_FALSE(verdict(demand::safety_and_progress, f));
        REQUIRE_FALSE(verdict(demand::safety_and_recovery, f));
        REQUIRE(verdict(demand::double_lease, f));
    }
    SECTION("fencing tokens are out of order unless counters were lost")
    {
        f.disordered.emplace_back();
        REQUIRE_FALSE(verdict(demand::safety_and_progress, f));
        f.double_leases.emplace_back();
        REQUIRE_FALSE(verdict(demand::double_lease, f));
        f.tokens_hold = false;
        REQUIRE(verdict(demand::double_lease, f));
    }
    SECTION("an update is lost")
    {
        f.lost_updates = 1;
        REQUIRE_FALSE(verdict(demand::safety_and_progress, f));
        REQUIRE(verdict(demand::lost_update, f));
        f.double_leases.emplace_back();
        REQUIRE_FALSE(verdict(demand::lost_update, f));
    }
}

TEST_CASE("a failed verdict says why", "[chaos]")
{
    const auto told = [](demand wanted, const findings& f) {
        std::ostringstream out;
        CHECK_FALSE(print_verdict(out, wanted, f));
        return out.str();
    };
    const auto says = [](const std::string& text, std::string_view what) {
        CAPTURE(text, what);
        CHECK(text.find(what) != std::string::npos);
    };
    constexpr nanos us = 1000;
    auto f = good_findings();
    SECTION("with both leases that overlap and when and for how long")
    {
        for (nanos i = 0; i < 7; ++i) {
            f.double_leases.emplace_back(stretch{0, 900 * us, 40, 1, 2},
                                         stretch{(500 + i) * us, 800 * us, 40, 3, 4});
        }
        const std::string text = told(demand::safety_and_progress, f);
        says(text, "leases 0, of which two at a time: 7\n");
        says(text,
             "  resource 40: process 1 worker 2, and process 3 worker 4 for 300 us, 500 us after "
             "the first had begun\n");
        says(text, " 504 us after the first had begun\n");  // five of them, and no more
        CHECK(text.find(" 505 us after") == std::string::npos);
        says(text, "\nFAILED\n");
    }
    SECTION("with the fencing tokens that are out of order")
    {
        f.disordered.emplace_back(granted{1, 2, 71, 40, 1, 2}, granted{3, 4, 70, 40, 3, 4});
        const std::string text = told(demand::safety_and_recovery, f);
        says(text, ", of which out of order: 1\n");
        says(text,
             "  resource 40: process 1 worker 2 had the fencing token 71, and process 3 worker 4 "
             "got 70\n");
        says(text, "\nFAILED\n");
    }
    SECTION("with the number of lost updates")
    {
        f.lost_updates = 3;
        says(told(demand::safety_and_progress, f), ", lost 3, ");
    }
    SECTION("with the first complaint and their number")
    {
        f.complaints = {"this", "that"};
        says(told(demand::safety_and_progress, f), "complaints 2, the first: this\n");
    }
    SECTION("with the disease that was not seen")
    {
        says(told(demand::double_lease, f), "FAILED: the disease was not seen");
    }
    SECTION("with packets that were not dropped without a failure of the run")
    {
        f.packets_kept = "the reason";
        std::ostringstream out;
        CHECK(print_verdict(out, demand::safety_and_progress, f));
        says(out.str(), ": the reason\nall was as demanded\n");
    }
}

TEST_CASE("the checker sees fencing tokens that are equal or decrease", "[chaos]")
{
    const auto of = [](nanos begun, nanos known, std::int64_t token, unsigned resource = 7) {
        return granted{begun, known, token, resource, 1, 2};
    };
    REQUIRE(disorder({}).empty());
    // Order counts only without overlap, and each resource is separate.
    REQUIRE(disorder({of(1, 2, 10), of(3, 4, 11), of(5, 6, 40), of(1, 2, 10, 8), of(9, 10, 11, 8)})
                .empty());
    REQUIRE(disorder({of(1, 5, 11), of(3, 4, 10)}).empty());
    REQUIRE(disorder({of(1, 5, 10), of(3, 4, 11)}).empty());
    REQUIRE(disorder({of(1, 2, 11), of(2, 3, 10)}).empty());  // asked for when the other one came
    REQUIRE(disorder({of(1, 2, 11), of(3, 4, 10)}).size() == 1);
    REQUIRE(disorder({of(1, 2, 10), of(3, 4, 12), of(5, 6, 11)}).size() == 1);
    REQUIRE(disorder({of(1, 9, 10), of(3, 4, 10)}).size() == 1);
    REQUIRE(disorder({of(1, 2, 50, 1), of(3, 4, 10, 2), of(5, 6, 9, 2)}).size() == 1);

    chronicle c;
    author one(c, 1);
    one.says(1, event::acquire_begins).says(2, event::token, 30).says(2, event::acquired, 9);
    one.says(3, event::gives_back).says(4, event::given_back);
    author other(c, 2);
    other.says(5, event::acquire_begins).says(6, event::token, 29).says(6, event::acquired, 9);
    REQUIRE(c.tokens().size() == 2);
    REQUIRE(disorder(c.tokens()).size() == 1);
}

TEST_CASE("a run that tested nothing fails and says so", "[chaos]")
{
    auto f = good_findings();
    SECTION("no lock was acquired")
    {
        f.counts.acquired = 0;
        REQUIRE(is_about_nothing(demand::safety_and_progress, f, "nothing was ever acquired"));
        REQUIRE(is_about_nothing(demand::safety_and_recovery, f, "nothing was ever acquired"));
    }
    SECTION("no update was written or no token was granted")
    {
        f.counts.written = 0;
        REQUIRE(is_about_nothing(demand::safety_and_progress, f, "no update was written"));
        f.counts.written = 1;
        f.tokens = 0;
        REQUIRE(is_about_nothing(demand::double_lease, f, "no fencing token was seen"));
    }
    SECTION("no lock was kept alive")
    {
        f.counts.renewed = 0;
        REQUIRE(verdict(demand::safety_and_progress, f));
        f.time = 300 * second;
        f.watched.counted = 150 * second;
        REQUIRE(is_about_nothing(demand::safety_and_progress, f, "no lock was kept alive"));
        REQUIRE(is_about_nothing(demand::safety_and_recovery, f, "no lock was kept alive"));
        f.double_leases.emplace_back();
        REQUIRE(verdict(demand::double_lease, f));
    }
    SECTION("many updates overlapped with late ones")
    {
        f.counts.written = 10;
        f.updates_judged = 9;
        REQUIRE(verdict(demand::safety_and_recovery, f));
        f.updates_judged = 8;
        REQUIRE(is_about_nothing(demand::safety_and_progress, f, "more than one update of ten"));
        REQUIRE(is_about_nothing(demand::safety_and_recovery, f, "more than one update of ten"));
        f.counts.written = 1;
        f.updates_judged = 0;
        REQUIRE(is_about_nothing(demand::safety_and_recovery, f, "more than one update of ten"));
    }
    SECTION("the watch never counted longer than a patience at a stretch")
    {
        const auto kind = GENERATE(&watch_record::own, &watch_record::shared);
        (f.watched.*kind).unbroken = (f.watched.*kind).patience;
        REQUIRE(
            is_about_nothing(demand::safety_and_progress, f, "progress was watched too little"));
        REQUIRE(verdict(demand::safety_and_recovery, f));
    }
    SECTION("the watch counted less than half of the time")
    {
        --f.watched.counted;
        REQUIRE(
            is_about_nothing(demand::safety_and_progress, f, "progress was watched too little"));
        REQUIRE(verdict(demand::safety_and_recovery, f));
    }
    SECTION("a fault was never injected")
    {
        f.never_done = {"master: stopped"};
        REQUIRE(
            is_about_nothing(demand::safety_and_progress, f, "never injected: master: stopped"));
        REQUIRE(
            is_about_nothing(demand::safety_and_recovery, f, "never injected: master: stopped"));
        f.double_leases.emplace_back();
        REQUIRE(is_about_nothing(demand::double_lease, f, "never injected: master: stopped"));
        f.double_leases.clear();
        f.lost_updates = 1;
        REQUIRE(is_about_nothing(demand::lost_update, f, "never injected: master: stopped"));
    }
}

TEST_CASE("a fault that the server refuses does not count", "[chaos]")
{
    const redlock::test::temp_dir folder;
    const site_options options{.remembers = false, .clocks = folder.path(), .shim = {}};
    std::vector<std::unique_ptr<site>> sites;
    sites.push_back(std::make_unique<site>(0, options));
    fleet nobody({.program = {}, .client = {}, .clients = 0});
    dice chance(1);
    const stage s{sites, nobody, chance, nullptr, std::chrono::seconds(1)};
    const auto refused = GENERATE(false, true);
    if (refused) {
        sites[0]->server.options().arguments = {"--enable-debug-command",
                                                "no",
                                                "--rename-command",
                                                "CLIENT",
                                                "",
                                                "--rename-command",
                                                "CONFIG",
                                                ""};
    }
    sites[0]->server.start();
    for (const auto& each : server_faults(s)) {
        CAPTURE(each.name);
        const bool is_asked_for = each.name != "stopped (SIGSTOP)";
        CHECK(each.begin(0, std::chrono::milliseconds(1)) == !(refused && is_asked_for));
        if (!(refused && is_asked_for)) {
            each.end(0);
        }
    }
}

TEST_CASE("each fault of queues harms a node with a queue and leaves the others alone", "[chaos]")
{
    const redlock::test::temp_dir folder;
    std::vector<std::unique_ptr<site>> sites;
    sites.push_back(std::make_unique<site>(0, site_options{.clocks = folder.path(), .shim = {}}));
    redlock::test::server& server = sites[0]->server;
    fleet nobody({.program = {}, .client = {}, .clients = 0});
    dice chance(1);
    server.start();
    for (const auto& each :
         queue_faults({sites, nobody, chance, nullptr, std::chrono::seconds(1)})) {
        CAPTURE(each.name);
        server.flush();
        server.command({"SET", "r", "lock"});
        CHECK_FALSE(each.begin(0, std::chrono::milliseconds(1)));
        const auto state = [&] {
            return server.responsive() ? server.command({"DEBUG", "DIGEST"}) : "none";
        };
        // Chance may delete none of the keys.
        const bool is_harmed = redlock::test::wait_for([&] {
            server.command({"DEL", "r:redlock:queue", "r:t:redlock:ticket"});
            server.command({"ZADD", "r:redlock:queue", "1", "t"});
            server.command({"SET", "r:t:redlock:ticket", "", "PX", "30000"});
            const std::string before = state();
            CHECK(each.begin(0, std::chrono::milliseconds(1)));
            const bool is_other = state() != before;
            each.end(0);
            server.await();
            return is_other;
        });
        CHECK(is_harmed);
        CHECK(server.get("r") == "lock");
    }
}

TEST_CASE("a wrong clock stops drifting at its limit", "[chaos]")
{
    clock_page page{};
    page.farthest = second / 2;
    const auto faster = GENERATE(std::int64_t{50'000}, std::int64_t{-50'000});
    page.faster = faster;
    const nanos sign = faster > 0 ? 1 : -1;
    REQUIRE(page.ahead_at(second) == sign * second / 20);
    REQUIRE(page.ahead_at(9 * second) == sign * second * 9 / 20);
    REQUIRE(page.ahead_at(11 * second) == sign * second / 2);
    REQUIRE(page.ahead_at(3600 * second) == sign * second / 2);
    SECTION("the clock was already beyond the limit")
    {
        page.ahead = sign * second;
        REQUIRE(page.ahead_at(second) == sign * second);
        page.ahead = -sign * second;
        REQUIRE(page.ahead_at(second) == -sign * second * 19 / 20);
        REQUIRE(page.ahead_at(3600 * second) == sign * second / 2);
    }
    SECTION("the clock has no limit")
    {
        page.farthest = clock_dial::no_limit.count();
        REQUIRE(page.ahead_at(3600 * second) == sign * 180 * second);
    }
}

TEST_CASE("clocks step no farther than their limit", "[chaos]")
{
    using namespace std::chrono_literals;
    const redlock::test::temp_dir folder;
    std::vector<std::unique_ptr<site>> sites;
    sites.push_back(std::make_unique<site>(0, site_options{.clocks = folder.path(), .shim = {}}));
    fleet nobody({.program = {}, .client = {}, .clients = 0});
    dice chance(1);
    auto& clock = sites[0]->clock;
    const auto last_of = [&](std::chrono::nanoseconds farthest) {
        const auto faults = clock_faults({sites, nobody, chance, nullptr, 1s}, farthest);
        if (farthest != clock_dial::no_limit) {
            clock.step(farthest - clock.ahead());
            REQUIRE_FALSE(faults.back().begin(0, 0ms));
        }
        for (int i = 0; i < 1000; ++i) {
            for (const auto& each : faults) {
                each.begin(0, 0ms);
                // The clock has moved between the query and the step.
                constexpr auto a_little = 1ms;
                if (farthest != clock_dial::no_limit) {
                    REQUIRE(clock.ahead() >= -farthest - a_little);
                    REQUIRE(clock.ahead() <= farthest + a_little);
                }
            }
        }
        return clock.ahead();
    };
    REQUIRE(last_of(250ms) < -100ms);
    REQUIRE(last_of(clock_dial::no_limit) < -10s);
}

TEST_CASE("a restarted node answers the probe only by its new answers", "[chaos]")
{
    redlock::test::server server;
    const probe asking({server.port()}, std::chrono::seconds(20));
    REQUIRE(redlock::test::wait_for([&] { return asking.answers(0); }));
    server.kill();
    const auto killed = now();
    REQUIRE_FALSE(asking.answers(0, killed));
    server.start();
    REQUIRE(redlock::test::wait_for([&] { return asking.answers(0, killed); }));
    REQUIRE(asking.answering() == 1);
}
