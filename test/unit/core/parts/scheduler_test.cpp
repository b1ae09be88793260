#include "core/scheduler.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock;
using namespace std::chrono_literals;
using base::instant;
using core::operation;
using kind = core::operation::kind;

TEST_CASE("operations go on in the order in which they could, once each", "[core][scheduler]")
{
    core::scheduler s;
    operation& one = s.begin(kind::acquire, nullptr);
    operation& two = s.begin(kind::extend, nullptr);
    CHECK(s.next_ready() == nullptr);
    s.resume(two);
    s.resume(one);
    s.resume(two);
    CHECK(s.next_ready() == &two);
    CHECK(s.next_ready() == &one);
    CHECK(s.next_ready() == nullptr);
    CHECK(s.count_of(kind::acquire) == 1);
    CHECK(s.size() == 2);
    s.end(one);
    s.end(two);
    CHECK(s.count_of(kind::acquire) == 0);
    CHECK(s.size() == 0);
}

TEST_CASE("an operation waits for one instant at a time", "[core][scheduler]")
{
    core::scheduler s;
    const instant start{};
    operation& one = s.begin(kind::acquire, nullptr);
    operation& two = s.begin(kind::acquire, nullptr);
    CHECK(s.next_wake_up() == instant::max());
    s.set_timer(one, start + 2s);
    s.set_timer(two, start + 3s);
    s.set_timer(one, start + 4s);
    CHECK(s.next_wake_up() == start + 3s);
    CHECK(s.due(start + 3s - 1ns) == nullptr);
    CHECK(s.due(start + 3s) == &two);
    s.cancel_timer(two);
    s.cancel_timer(two);
    CHECK(s.due(start + 3s) == nullptr);
    CHECK(s.due(start + 4s) == &one);
    s.cancel_timer(one);
    s.end(one);
    s.end(two);
}

TEST_CASE("acquires that wait for connections go on together", "[core][scheduler]")
{
    core::scheduler s;
    operation& one = s.begin(kind::acquire, nullptr);
    operation& two = s.begin(kind::acquire, nullptr);
    operation& three = s.begin(kind::acquire, nullptr);
    s.await_contact(one);
    s.await_contact(two);
    s.await_contact(three);
    s.resume(two);  // cancelled, or out of time
    CHECK(s.next_ready() == &two);
    s.resume_newcomers();
    CHECK(s.next_ready() == &one);
    CHECK(s.next_ready() == &three);
    CHECK(s.next_ready() == nullptr);
    s.end(one);
    s.end(two);
    s.end(three);
}

TEST_CASE("a loss is told before everything else", "[core][scheduler]")
{
    core::scheduler s;
    operation& release = s.begin(kind::release, nullptr);
    operation& wait = s.begin(kind::wait_lost, nullptr);
    s.finish(release);
    s.finish_loss(wait);
    CHECK(s.losses() == 1);
    CHECK(s.finished() == 2);
    CHECK(s.next_finished() == &wait);
    CHECK(s.next_finished() == &release);
    CHECK(s.next_finished() == nullptr);
    s.end(release);
    s.end(wait);
}

TEST_CASE("an operation that reuses a record has another serial number", "[core][scheduler]")
{
    core::scheduler s;
    operation& first = s.begin(kind::acquire, nullptr);
    const auto serial = first.serial;
    s.end(first);
    operation& second = s.begin(kind::acquire, nullptr);
    REQUIRE(&second == &first);
    CHECK(second.serial != serial);
    s.end(second);
}
