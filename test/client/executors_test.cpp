#include "client/operations.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/io_context_strand.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

using namespace redlock;
using namespace redlock::test;

namespace {

template <class Operation>
void finish(scene& s)
{
    asio::post(s.io, [&s] { Operation::finish(s); });
}

/// The state of the initiating function that a handler saw.
struct watch {
    bool initiating = false;
    bool called = false;
    bool called_inline = false;

    [[nodiscard]] auto handler()
    {
        return [this](auto&&...) {
            called = true;
            called_inline = initiating;
        };
    }

    template <class Operation>
    void begin(scene& s)
    {
        initiating = true;
        Operation::begin(s, handler());
        initiating = false;
    }
    template <class Operation, class Executor>
    void begin_on(const Executor& ex, scene& s)
    {
        initiating = true;
        Operation::begin(s, asio::bind_executor(ex, handler()));
        initiating = false;
    }
};

/// An operation that is refused for its argument.
struct acquiring_nothing : acquiring {
    static auto begin(scene& s, auto&& token)
    {
        return s.locks->async_acquire("", std::forward<decltype(token)>(token));
    }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("a handler runs on its strand", "[executors]", all_operations)
{
    scene s(either_kind());
    TestType::prepare(s);
    std::optional<bool> inside;
    const auto begin_on = [&](const auto& strand) {
        TestType::begin(s, asio::bind_executor(strand, [&inside, strand](auto&&...) {
                            inside = strand.running_in_this_thread();
                        }));
    };
    SECTION("of Asio's current type")
    {
        begin_on(asio::make_strand(s.io));
    }
    SECTION("over any executor")
    {
        begin_on(asio::make_strand(asio::any_io_executor(s.io.get_executor())));
    }
    SECTION("of the Networking TS")
    {
        begin_on(asio::io_context::strand(s.io));
    }
    finish<TestType>(s);
    REQUIRE(run_until(s.io, [&] { return inside.has_value(); }));
    CHECK(*inside);
}

TEMPLATE_LIST_TEST_CASE("a handler runs on its own context and keeps work there until then",
                        "[executors]", all_operations)
{
    scene s(either_kind());
    TestType::prepare(s);
    asio::io_context other{1};
    std::optional<bool> there;
    const auto begin_on = [&](const auto& ex) {
        TestType::begin(s, asio::bind_executor(ex, [&](auto&&...) {
                            there = other.get_executor().running_in_this_thread() &&
                                    !s.io.get_executor().running_in_this_thread();
                        }));
    };
    SECTION("through its own executor")
    {
        begin_on(other.get_executor());
    }
    SECTION("through an executor of the client's type")
    {
        begin_on(asio::any_io_executor(other.get_executor()));
    }
    SECTION("through an executor that can't be posted to as any_completion_handler has")
    {
        begin_on(asio::any_completion_executor(other.get_executor()));
    }

    // There is nothing to do yet, but the context has not run out of work.
    CHECK(other.poll() == 0);
    CHECK_FALSE(other.stopped());

    finish<TestType>(s);
    REQUIRE(run_until(s.io, [&] { return other.poll_one() == 1; }));
    REQUIRE(there.has_value());
    CHECK(*there);
    CHECK(other.run() == 0);
}

TEMPLATE_LIST_TEST_CASE("a handler runs on the system executor", "[executors]", all_operations)
{
    scene s;
    TestType::prepare(s);
    std::atomic<bool> called{false};
    TestType::begin(
        s, asio::bind_executor(asio::system_executor(), [&](auto&&...) { called = true; }));
    finish<TestType>(s);
    CHECK(run_until(s.io, [&] { return called.load(); }));
}

TEMPLATE_LIST_TEST_CASE("a handler without an executor runs on the client's", "[executors]",
                        all_operations)
{
    scene s;
    auto strand = asio::make_strand(s.io);
    s.locks.emplace(asio::any_io_executor(strand), shared_config());
    TestType::prepare(s);
    std::optional<bool> inside;
    TestType::begin(s, [&](auto&&...) { inside = strand.running_in_this_thread(); });
    asio::post(strand, [&s] { TestType::finish(s); });
    REQUIRE(run_until(s.io, [&] { return inside.has_value(); }));
    CHECK(*inside);
    CHECK(s.locks->get_executor() == asio::any_io_executor(strand));
}

TEMPLATE_LIST_TEST_CASE("the initiating function never calls a handler", "[executors]",
                        all_operations)
{
    scene s(either_kind());
    TestType::prepare(s);
    watch w;
    const auto begin = [&] { w.begin<TestType>(s); };

    SECTION("from outside")
    {
        begin();
    }
    SECTION("from within a handler of the client's executor")
    {
        asio::post(s.locks->get_executor(), begin);
    }
    SECTION("when the operation is refused at once")
    {
        s.locks->async_close(asio::detached);
        s.io.run_one();
        asio::post(s.locks->get_executor(), begin);
    }
    finish<TestType>(s);
    REQUIRE(run_until(s.io, [&] { return w.called; }));
    CHECK_FALSE(w.called_inline);
}

TEMPLATE_TEST_CASE("an executor that can't be posted to calls no handler at once", "[executors]",
                   acquiring, acquiring_nothing)
{
    scene s(either_kind());
    TestType::prepare(s);
    watch w;
    asio::post(s.locks->get_executor(), [&] {
        w.begin_on<TestType>(asio::any_completion_executor(s.io.get_executor()), s);
    });
    REQUIRE(run_until(s.io, [&] { return w.called; }));
    CHECK_FALSE(w.called_inline);
}

TEST_CASE("a wait for the end of an empty lock calls no handler at once", "[executors]")
{
    std::promise<std::thread::id> called;
    lock().async_wait_lost(
        asio::bind_executor(asio::any_completion_executor(asio::system_executor()),
                            [&](error_code) { called.set_value(std::this_thread::get_id()); }));
    CHECK(called.get_future().get() != std::this_thread::get_id());
}

TEST_CASE("an invalid argument is reported after the initiating function returns", "[executors]")
{
    scene s;
    watch w;
    w.begin<acquiring_nothing>(s);
    REQUIRE(run_until(s.io, [&] { return w.called; }));
    CHECK_FALSE(w.called_inline);
}

TEST_CASE("the context does not run out of work while an operation of the client is pending",
          "[executors]")
{
    scene s;
    bool called = false;

    SECTION("before the client runs")
    {
        acquire_options o = long_lease();
        o.timeout = 20ms;
        s.locks->async_acquire(s.name, o, [&](error_code ec, lock) {
            called = true;
            CHECK(ec);
        });
    }
    SECTION("after a run that its own handler closes")
    {
        s.begin_run();
        s.locks->async_acquire(s.name, long_lease(), [&](error_code ec, lock) {
            called = true;
            CHECK_FALSE(ec);
            s.locks->async_close(asio::detached);
        });
    }
    s.io.run_for(patience);
    CHECK(called);
    CHECK(s.io.stopped());
}
