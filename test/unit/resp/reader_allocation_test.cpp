#include "resp/encoder.hpp"
#include "resp/reader.hpp"
#include "resp/scripts.hpp"

#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

using namespace redlock::resp;
using namespace redlock::test;

namespace {

/// Blocks allocated while the reader gets `bytes` in pieces of `size`.
std::uint64_t blocks_to_read(reader& reader, std::string_view bytes, std::size_t size)
{
    const std::uint64_t before = allocated_here().blocks;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
        reader.feed(bytes.substr(0, size));
        reply r;
        while (reader.next(r) == read_status::ready) {
        }
    }
    return allocated_here().blocks - before;
}

}  // namespace

TEST_CASE("the test counts allocations", "[resp]")
{
    const allocations before = allocated_here();
    const auto block = std::make_unique<std::uint64_t[]>(100);
    CHECK(block != nullptr);
    CHECK(allocated_here().blocks == before.blocks + 1);
    CHECK(allocated_here().bytes == before.bytes + 800);
}

TEST_CASE("a reader reads the replies of a lock without allocating", "[resp]")
{
    std::string stream;
    for (int i = 0; i < 50; ++i) {
        stream += "+OK\r\n$-1\r\n_\r\n:1\r\n:0\r\n:29987\r\n-NOSCRIPT No matching script.\r\n";
        stream += "*2\r\n$40\r\n0123456789012345678901234567890123456789\r\n:29987\r\n";
        stream += "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    }
    reader reader;
    CHECK(blocks_to_read(reader, stream, stream.size()) == 0);
    for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
        // The first reading makes room for the longest reply that comes in pieces.
        (void)blocks_to_read(reader, stream, size);
        CHECK(blocks_to_read(reader, stream, size) == 0);
    }
}

TEST_CASE("an encoder allocates nothing once its buffer has grown", "[resp]")
{
    const std::string token(40, 'a');
    std::string out;
    const auto encode = [&] {
        out.clear();
        for (int i = 0; i < 50; ++i) {
            append(out, "SET", key{"prefix:", "orders/42"}, token, "NX", "PX", 10'000);
            append(out, script_call{release_script, true}, "1", key{"prefix:", "orders/42"}, token);
        }
    };
    encode();
    const std::uint64_t before = allocated_here().blocks;
    encode();
    CHECK(allocated_here().blocks == before);
}

TEST_CASE("a reader frees the memory of a long reply", "[resp]")
{
    const std::string big = "$1000000\r\n" + std::string(1'000'000, 'x') + "\r\n";
    reader reader;
    CHECK(blocks_to_read(reader, big, 1000) > 0);
    // The memory is freed, so the next reply allocates again.
    (void)blocks_to_read(reader, "$2\r\nab\r\n", 3);
    CHECK(blocks_to_read(reader, big, 1000) > 0);
}
