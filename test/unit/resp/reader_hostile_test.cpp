#include "reading.hpp"

#include "support/allocation_count.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::resp;
using namespace redlock::test;

namespace {

struct hostile {
    std::string bytes;
    parse_error error;
};

std::string repeated(std::string_view what, std::size_t times)
{
    std::string out;
    for (std::size_t i = 0; i < times; ++i) {
        out += what;
    }
    return out;
}

/// The same error for the whole text, for halves and for single bytes.
void check_refused(const hostile& h, const limits& l = {})
{
    INFO(h.bytes.substr(0, 60));
    const std::string_view bytes = h.bytes;
    const readings whole = read_whole(bytes, protocol::undecided, l);
    CHECK(whole.end == read_status::error);
    CHECK(std::string_view(to_string(whole.error)) == to_string(h.error));
    CHECK(read_pieces(cut_every(bytes, 1), protocol::undecided, l) == whole);
    CHECK(read_pieces(cut_every(bytes, bytes.size() / 2 + 1), protocol::undecided, l) == whole);
}

}  // namespace

TEST_CASE("a reader refuses malformed replies", "[resp]")
{
    using e = parse_error;
    const std::vector<hostile> all{
        {"HTTP/1.1 400 Bad Request\r\n", e::unknown_type},
        {std::string(5, '\0'), e::unknown_type},
        {"\r\n", e::unknown_type},
        {"\n", e::unknown_type},
        {"+OK\r\n\r\n", e::unknown_type},
        {"*1\r\nx", e::unknown_type},

        {":+5\r\n", e::bad_integer},
        {":\r\n", e::bad_integer},
        {":-\r\n", e::bad_integer},
        {":-0\r\n", e::bad_integer},
        {":01\r\n", e::bad_integer},
        {":00\r\n", e::bad_integer},
        {":99999999999999999999\r\n", e::bad_integer},
        {":-01\r\n", e::bad_integer},
        {":--1\r\n", e::bad_integer},
        {": 1\r\n", e::bad_integer},
        {":1 \r\n", e::bad_integer},
        {":1x\r\n", e::bad_integer},
        {":0x10\r\n", e::bad_integer},
        {":1.0\r\n", e::bad_integer},
        {":9223372036854775808\r\n", e::bad_integer},
        {":-9223372036854775809\r\n", e::bad_integer},

        {"$18446744073709551615\r\n", e::bad_length},
        {"$18446744073709551616\r\n", e::bad_length},
        {"$-2\r\n", e::bad_length},
        {"$-0\r\n", e::bad_length},
        {"$+5\r\nhello\r\n", e::bad_length},
        {"$05\r\nhello\r\n", e::bad_length},
        {"$5x\r\nhello\r\n", e::bad_length},
        {"$\r\n", e::bad_length},
        {"$-1x\r\n", e::bad_length},
        {"$-9223372036854775808\r\n", e::bad_length},
        {"!-1\r\n", e::bad_length},
        {"=-1\r\n", e::bad_length},
        {"*1x\r\n", e::bad_length},
        {"*-2\r\n", e::bad_length},
        {"*+1\r\n", e::bad_length},
        {"*\r\n", e::bad_length},
        {"*00\r\n", e::bad_length},
        {"%-1\r\n", e::bad_length},
        {"~-1\r\n", e::bad_length},
        {">-1\r\n", e::bad_length},
        {"|-1\r\n", e::bad_length},
        {">0\r\n", e::bad_length},
        {"%9223372036854775808\r\n", e::bad_length},

        {"$3\r\nabcd\r\n", e::bad_terminator},
        {"$3\r\nabc\r\r\n", e::bad_terminator},
        {"$3\r\nabc\n\r\n", e::bad_terminator},
        {"$0\r\nab", e::bad_terminator},
        {"+OK\n", e::bad_line},
        {"+O\rK\r\n", e::bad_line},
        {"+OK\r\r\n", e::bad_line},
        {"-ERR\n\r\n", e::bad_line},
        {":1\n", e::bad_line},
        {"_\n", e::bad_line},
        {"$3\nabc\r\n", e::bad_line},

        {"#\r\n", e::bad_value},
        {"#T\r\n", e::bad_value},
        {"#true\r\n", e::bad_value},
        {"#1\r\n", e::bad_value},
        {"_x\r\n", e::bad_value},
        {",\r\n", e::bad_value},
        {",1.\r\n", e::bad_value},
        {",.5\r\n", e::bad_value},
        {",1e\r\n", e::bad_value},
        {",1e+\r\n", e::bad_value},
        {",+1\r\n", e::bad_value},
        {",1.5x\r\n", e::bad_value},
        {",0x1p3\r\n", e::bad_value},
        {",infinity\r\n", e::bad_value},
        {",INF\r\n", e::bad_value},
        {",nan(1)\r\n", e::bad_value},
        {",01.5\r\n", e::bad_value},
        {"(\r\n", e::bad_value},
        {"(-\r\n", e::bad_value},
        {"(12a\r\n", e::bad_value},
        {"(+1\r\n", e::bad_value},
        {"(00\r\n", e::bad_value},
        {"=3\r\ntxt\r\n", e::bad_value},
        {"=0\r\n\r\n", e::bad_value},
        {"=4\r\ntxtx\r\n", e::bad_value},

        {"$?\r\n;4\r\nabcd\r\n;0\r\n", e::streamed},
        {"*?\r\n", e::streamed},
        {"%?\r\n", e::streamed},
        {"~?\r\n", e::streamed},
        {">?\r\n", e::streamed},
        {"|?\r\n", e::streamed},
        {"=?\r\n", e::streamed},
        {"!?\r\n", e::streamed},
        {";4\r\nabcd\r\n", e::streamed},
        {".\r\n", e::streamed},

        {"*1\r\n>1\r\n+x\r\n", e::misplaced_push},
        {"|1\r\n+k\r\n>1\r\n+x\r\n", e::misplaced_push},
        {">1\r\n>1\r\n+x\r\n", e::misplaced_push},
    };
    for (const hostile& h : all) {
        check_refused(h);
    }
}

TEST_CASE("a reader refuses a reply that is too large when its size is announced", "[resp]")
{
    using e = parse_error;
    const std::vector<hostile> all{
        {"*2147483647\r\n", e::too_many_elements},
        {"*9223372036854775807\r\n", e::too_many_elements},
        {"%9223372036854775807\r\n", e::too_many_elements},
        {"%4611686018427387905\r\n", e::too_many_elements},
        {"%2147483649\r\n", e::too_many_elements},
        {"|2147483648\r\n", e::too_many_elements},
        {"~4294967297\r\n", e::too_many_elements},
        {"*4097\r\n", e::too_many_elements},
        {"%2049\r\n", e::too_many_elements},
        {"*4095\r\n*2\r\n", e::too_many_elements},
        {"*2\r\n|2048\r\n", e::too_many_elements},
        {"$9223372036854775807\r\n", e::bulk_too_long},
        {"$4294967296\r\n", e::bulk_too_long},
        {"$1048577\r\n", e::bulk_too_long},
        {"!1048577\r\n", e::bulk_too_long},
        {"=1048577\r\n", e::bulk_too_long},
        {repeated("*1\r\n", 9), e::too_deep},
        {repeated("*1\r\n", 200'000), e::too_deep},
        {repeated("%1\r\n", 200'000), e::too_deep},
        {repeated("|1\r\n", 200'000), e::too_deep},
    };
    for (const hostile& h : all) {
        check_refused(h);
        const allocations before = allocated_here();
        reader reader;
        reader.feed(h.bytes);
        reply r;
        CHECK(reader.next(r) == read_status::error);
        CHECK(allocated_here().bytes - before.bytes < 4096);
    }
}

TEST_CASE("a reader reads a reply of the largest size", "[resp]")
{
    const std::vector<std::string> all{
        "*4096\r\n" + repeated(":1\r\n", 4096),
        "%2048\r\n" + repeated(":1\r\n", 4096),
        "*4094\r\n" + repeated(":1\r\n", 4093) + "*2\r\n:1\r\n:2\r\n",
        "$1048576\r\n" + std::string(1'048'576, 'x') + "\r\n",
        repeated("*1\r\n", 8) + ":1\r\n",
        repeated("*1\r\n", 8) + "*0\r\n",
        "+" + std::string(64 * 1024 - 3, 'x') + "\r\n",
    };
    for (const std::string& bytes : all) {
        INFO(bytes.substr(0, 60));
        const readings whole = read_whole(bytes);
        CHECK(whole.error == parse_error::none);
        CHECK(whole.replies.size() == 1);
        CHECK(read_pieces(cut_every(bytes, 4093)) == whole);
    }
}

TEST_CASE("a reader refuses a line that never ends at the limit", "[resp]")
{
    for (const std::string_view mark : {"+", "-", ":", "$", "*", ",", "(", "%"}) {
        const std::string endless = std::string(mark) + std::string(64 * 1024 - 1, '1');
        check_refused({endless, parse_error::line_too_long});
        CHECK(read_whole(endless.substr(1)).error == parse_error::unknown_type);
        const std::string shorter = endless.substr(0, endless.size() - 1);
        CHECK(read_whole(shorter).end == read_status::more);
    }
    // The limit also holds if the reader finds the end later.
    check_refused({"+" + std::string(64 * 1024, 'x') + "\r\n", parse_error::line_too_long});
}

TEST_CASE("a reader refuses a reply that is too long as a whole", "[resp]")
{
    const std::string big = "$1000000\r\n" + std::string(1'000'000, 'x') + "\r\n";
    CHECK(read_whole("*2\r\n" + big + big).replies.size() == 1);
    CHECK(read_whole("*3\r\n" + big + big + big).error == parse_error::reply_too_long);
    CHECK(read_whole(big + big + big).replies.size() == 3);

    // Attributes with nothing but attributes after them.
    CHECK(read_whole(repeated("|0\r\n", 1'000'000)).error == parse_error::reply_too_long);
    CHECK(read_whole(repeated("|1\r\n:1\r\n:1\r\n", 3000)).error == parse_error::too_many_elements);

    limits small;
    small.max_reply = 20;
    check_refused({"*2\r\n+123456\r\n+1234567\r\n", parse_error::reply_too_long}, small);
    check_refused({"*2\r\n+123456\r\n$1000\r\n", parse_error::reply_too_long}, small);
    CHECK(read_whole("*2\r\n+12345\r\n+12345\r\n", protocol::undecided, small).replies.size() == 1);
}

TEST_CASE("a configured depth is cut to the supported one", "[resp]")
{
    limits deep;
    deep.max_depth = 1000;
    CHECK(read_whole(repeated("*1\r\n", 16) + ":1\r\n", protocol::undecided, deep).replies.size() ==
          1);
    check_refused({repeated("*1\r\n", 17), parse_error::too_deep}, deep);
}
