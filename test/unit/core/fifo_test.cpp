#include "core/node/fifo.hpp"

#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <deque>
#include <new>
#include <random>

using namespace redlock;
using queue = core::fifo<int>;

namespace {

void add(queue& to, int value)
{
    to.reserve(1);
    to.push(value);
}

}  // namespace

TEST_CASE("a FIFO returns its elements in order", "[core]")
{
    queue::blocks blocks;
    queue q{blocks};
    std::deque<int> expected;
    std::mt19937 random{17};
    int next = 0;
    for (int i = 0; i < 20'000; ++i) {
        // The queue grows and shrinks in turn, and is often empty.
        const bool grows = i / 500 % 2 == 0;
        const std::size_t row = random() % (queue::block_length + 1);
        if (random() % 4 < (grows ? 3U : 1U)) {
            q.reserve(row);
            for (std::size_t k = 0; k < row; ++k) {
                q.push(next);
                expected.push_back(next++);
            }
        } else {
            for (std::size_t k = 0; k < row && !expected.empty(); ++k) {
                REQUIRE(q.front() == expected.front());
                REQUIRE(q.pop() == expected.front());
                expected.pop_front();
            }
        }
        REQUIRE(q.size() == expected.size());
        REQUIRE(q.empty() == expected.empty());
    }
    while (!q.empty()) {
        REQUIRE(q.pop() == expected.front());
        expected.pop_front();
    }
    CHECK(expected.empty());
    CHECK(blocks.in_use() <= 1);
}

TEST_CASE("a FIFO's reservation takes at most one block and lasts until it is used", "[core]")
{
    queue::blocks blocks;
    queue q{blocks};
    // For every position of the next element in a block.
    for (std::size_t pushed = 0; pushed <= 2 * queue::block_length; ++pushed) {
        q.reserve(queue::block_length);
        const auto reserved = blocks.in_use();
        CHECK(reserved <= pushed / queue::block_length + 2);
        // As if the element got no memory for its content.
        q.reserve(queue::block_length);
        CHECK(blocks.in_use() == reserved);
        q.push(1);
        CHECK(blocks.in_use() == reserved);
    }
}

TEST_CASE("a FIFO that gets no memory stays as it was", "[core]")
{
    queue::blocks blocks;
    queue q{blocks};
    for (std::size_t i = 0; i < 32 * queue::block_length; ++i) {  // all memory of the first growth
        add(q, static_cast<int>(i));
    }
    {
        const test::scarce_memory none{1};
        CHECK_THROWS_AS(q.reserve(1), std::bad_alloc);
    }
    CHECK(q.size() == 32 * queue::block_length);
    add(q, -1);
    for (std::size_t i = 0; i < 32 * queue::block_length; ++i) {
        REQUIRE(q.pop() == static_cast<int>(i));
    }
    CHECK(q.pop() == -1);
}

TEST_CASE("one FIFO can reuse the memory of another", "[core]")
{
    constexpr int many = 10'000;
    queue::blocks blocks;
    queue one{blocks};
    queue other{blocks};
    for (int i = 0; i < many; ++i) {
        add(one, i);
    }
    while (!one.empty()) {
        one.pop();
    }
    const auto allocations = test::allocated_here().blocks;
    for (int i = 0; i < many; ++i) {
        add(other, i);
    }
    CHECK(test::allocated_here().blocks == allocations);
}
