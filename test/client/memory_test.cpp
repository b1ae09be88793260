#include "client/operations.hpp"
#include "support/allocation_count.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstddef>
#include <memory>
#include <optional>

using namespace redlock;
using namespace redlock::test;

namespace {

/// The memory that an allocator has given out.
struct balance {
    std::size_t blocks = 0;
    std::size_t live = 0;
};

template <class T>
struct counting_allocator {
    using value_type = T;

    explicit counting_allocator(balance& of) noexcept : in(&of) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : in(other.in)
    {}

    [[nodiscard]] T* allocate(std::size_t n)
    {
        T* block = std::allocator<T>().allocate(n);
        ++in->blocks;
        ++in->live;
        return block;
    }
    void deallocate(T* p, std::size_t n) noexcept
    {
        --in->live;
        std::allocator<T>().deallocate(p, n);
    }

    template <class U>
    [[nodiscard]] bool operator==(const counting_allocator<U>& other) const noexcept
    {
        return in == other.in;
    }

    balance* in;
};

/// Room for the one handler that is pending at a time.
struct one_block {
    alignas(std::max_align_t) std::byte bytes[512];
};

template <class T>
struct block_allocator {
    using value_type = T;

    explicit block_allocator(one_block& of) noexcept : in(&of) {}
    template <class U>
    block_allocator(const block_allocator<U>& other) noexcept : in(other.in)
    {}

    [[nodiscard]] T* allocate(std::size_t n)
    {
        if (n * sizeof(T) > sizeof(one_block)) {
            throw std::bad_alloc();
        }
        return reinterpret_cast<T*>(in->bytes);
    }
    void deallocate(T*, std::size_t) noexcept {}

    template <class U>
    [[nodiscard]] bool operator==(const block_allocator<U>& other) const noexcept
    {
        return in == other.in;
    }

    one_block* in;
};

/// Acquires and releases with callbacks, over and over. `bind` gives them an allocator, or leaves
/// them plain.
template <class Bind>
class cycles {
public:
    cycles(client_alone& c, Bind bind) : locks_(*c.locks), io_(c.io), bind_(bind) {}

    void run(unsigned count)
    {
        left_ = count;
        next();
        // Runs in one call, because Asio frees its memory for a thread whenever the thread leaves
        // the context.
        io_.restart();
        io_.run();
        REQUIRE(left_ == 0);
        REQUIRE(failed_ == 0);
    }

private:
    void next()
    {
        locks_.async_acquire("asio/cycle", bind_([this](error_code ec, lock l) {
                                 failed_ += ec ? 1U : 0U;
                                 release(std::move(l));
                             }));
    }

    void release(lock l)
    {
        locks_.async_release(std::move(l), bind_([this](error_code ec, release_result) {
                                 failed_ += ec ? 1U : 0U;
                                 if (--left_ > 0) {
                                     next();
                                 } else {
                                     io_.stop();
                                 }
                             }));
    }

    client& locks_;
    asio::io_context& io_;
    Bind bind_;
    unsigned left_ = 0;
    unsigned failed_ = 0;
};

template <class Bind>
double blocks_a_cycle(config with, Bind bind)
{
    running_client c(std::move(with));
    cycles work(c, bind);
    constexpr unsigned count = 500;
    work.run(count);
    const auto before = allocated_here().blocks;
    work.run(count);
    return static_cast<double>(allocated_here().blocks - before) / count;
}

constexpr auto plain = [](auto handler) { return handler; };

}  // namespace

TEMPLATE_LIST_TEST_CASE(
    "a handler's memory comes from its allocator and is free before the handler is called",
    "[memory]", all_operations)
{
    scene s(either_kind());
    TestType::prepare(s);
    balance of;
    std::optional<std::size_t> live;
    const auto handler = [&](auto&&...) { live = of.live; };
    const auto bind = [&](auto h) {
        return asio::bind_allocator(counting_allocator<void>(of), std::move(h));
    };
    asio::cancellation_signal signal;

    SECTION("by itself")
    {
        TestType::begin(s, bind(handler));
    }
    SECTION("on its own executor")
    {
        TestType::begin(s, bind(asio::bind_executor(asio::make_strand(s.io), handler)));
    }
    SECTION("with a cancellation slot")
    {
        TestType::begin(s, bind(asio::bind_cancellation_slot(signal.slot(), handler)));
    }
    CHECK(of.live >= 1);
    asio::post(s.io, [&] { TestType::finish(s); });
    REQUIRE(run_until(s.io, [&] { return live.has_value(); }));
    CHECK(of.blocks >= 1);
    CHECK(*live == 0);
}

TEMPLATE_LIST_TEST_CASE("a handler's memory is free when its context is destroyed", "[memory]",
                        all_operations)
{
    balance of;
    {
        scene s;
        TestType::prepare(s);
        TestType::begin(s, asio::bind_allocator(counting_allocator<void>(of), [](auto&&...) {}));
        CHECK(of.live >= 1);
    }
    CHECK(of.live == 0);
}

TEST_CASE("a cycle with plain callbacks needs two blocks at most", "[memory]")
{
    config c = default_ttl_config();
    c.thread_safe = GENERATE(false, true);
    const double blocks = blocks_a_cycle(c, plain);
    CAPTURE(blocks, c.thread_safe);
    CHECK(blocks < 2.1);
}

TEST_CASE("a cycle of handlers with an allocator needs no block", "[memory]")
{
    one_block room;
    const double blocks = blocks_a_cycle(default_ttl_config(), [&](auto handler) {
        return asio::bind_allocator(block_allocator<void>(room), std::move(handler));
    });
    CAPTURE(blocks);
    CHECK(blocks < 0.1);
}
