#include "core/node/output.hpp"

#include "base/wipe.hpp"
#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

using namespace redlock;
using core::output;
using core::output_blocks;

namespace {

constexpr std::size_t block_size = output_blocks::block_size;

void add(output& out, std::string_view row)
{
    out.make_room();
    out.last() += row;
}

/// Takes a block and returns its buffer.
std::string written(output& out)
{
    std::string bytes = std::exchange(out.take(), {});
    std::string copy = bytes;
    base::wipe(bytes);
    out.on_written(std::move(bytes));
    return copy;
}

}  // namespace

TEST_CASE("output comes in blocks and in order", "[core]")
{
    output_blocks blocks{8};
    output out{blocks};
    CHECK(out.empty());
    std::string all;
    for (int i = 0; all.size() < 3 * block_size; ++i) {
        const std::string row = std::to_string(i) + std::string(300, 'x');
        add(out, row);
        all += row;
    }
    CHECK(out.size() == all.size());
    std::string got;
    unsigned writes = 0;
    while (!out.empty()) {
        got += written(out);
        ++writes;
    }
    CHECK(got == all);
    CHECK(writes == 4);
    CHECK(out.size() == 0);
}

TEST_CASE("a batch of any length stays in one block", "[core]")
{
    output_blocks blocks{8};
    output out{blocks};
    add(out, std::string(block_size - 100, 'a'));
    add(out, std::string(2 * block_size, 'b'));
    add(out, "c");
    CHECK(written(out) == std::string(block_size - 100, 'a'));
    CHECK(written(out) == std::string(2 * block_size, 'b'));
    CHECK(written(out) == "c");
    CHECK(out.empty());
}

TEST_CASE("a long batch grows only its own block", "[core]")
{
    const std::size_t size = GENERATE(1500U, 2500U, 5000U, 9000U, 40000U);
    output_blocks blocks{8};
    output out{blocks};
    for (std::size_t all = 0; all < 100 * block_size; all += size) {
        add(out, std::string(size, 'x'));
    }
    while (!out.empty()) {
        const std::size_t written_at_once = written(out).size();
        CHECK(written_at_once >= std::min(size, block_size - 1024));
        CHECK(written_at_once < block_size + size);
    }
}

TEST_CASE("an unfinished write counts until its end and more output can be added meanwhile",
          "[core]")
{
    output_blocks blocks{8};
    output out{blocks};
    add(out, "first");
    std::string first = std::exchange(out.take(), {});
    CHECK(out.empty());
    CHECK(out.size() == 5);
    add(out, "second");
    CHECK(out.size() == 11);
    base::wipe(first);
    out.on_written(std::move(first));
    CHECK(out.size() == 6);
    CHECK(written(out) == "second");
}

TEST_CASE("a limited number of blocks is kept for reuse", "[core]")
{
    output_blocks blocks{2};
    for (std::string& block : std::array{blocks.take(), blocks.take(), blocks.take()}) {
        blocks.give(std::move(block));
    }
    blocks.give(std::string());  // no block at all
    const auto before = test::allocated_here().blocks;
    const std::array again{blocks.take(), blocks.take()};
    CHECK(test::allocated_here().blocks == before);
    CHECK(again[0].capacity() >= block_size);
    const std::string third = blocks.take();
    CHECK(test::allocated_here().blocks == before + 1);
}

TEST_CASE("output that a lost connection leaves unwritten is overwritten", "[core]")
{
    const std::string row = "s3cr3t-PASSWORD that was not written any more" + std::string(300, 'x');
    const test::freed_with freed(std::string_view(row).substr(0, 40));
    {
        output_blocks blocks{8};
        output out{blocks};
        for (int i = 0; i < 500; ++i) {
            add(out, row);
        }
        SECTION("when the connection ends")
        {
            out.wipe();
            CHECK(out.empty());
            CHECK(out.size() == 0);
            add(out, "PING");
            CHECK(written(out) == "PING");
        }
        SECTION("when the client ends") {}
    }
    CHECK(freed.blocks() == 0);
}
