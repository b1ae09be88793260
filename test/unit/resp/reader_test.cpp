#include "reading.hpp"

#include <catch2/catch_test_macros.hpp>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::resp;
using namespace redlock::test;

namespace {

using texts = std::vector<std::string>;

texts replies_of(std::string_view bytes, protocol p = protocol::undecided)
{
    const readings found = read_whole(bytes, p);
    CHECK(found.end == read_status::more);
    return found.replies;
}

}  // namespace

TEST_CASE("a reader reads every type of RESP2 in every protocol", "[resp]")
{
    const std::string nul("a\0\r\nb", 5);
    for (const protocol p : {protocol::undecided, protocol::resp2, protocol::resp3}) {
        CHECK(replies_of("+OK\r\n+\r\n+PONG\r\n", p) == texts{"+OK", "+", "+PONG"});
        CHECK(replies_of("-ERR no\r\n", p) == texts{"-ERR no"});
        CHECK(replies_of(":0\r\n:7\r\n:42\r\n:-1\r\n", p) ==
              texts{":0=0", ":7=7", ":42=42", ":-1=-1"});
        CHECK(replies_of(":10\r\n:999999999999999999\r\n:1000000000000000000\r\n", p) ==
              texts{":10=10", ":999999999999999999=999999999999999999",
                    ":1000000000000000000=1000000000000000000"});
        CHECK(replies_of(":9223372036854775807\r\n:-9223372036854775808\r\n", p) ==
              texts{":9223372036854775807=9223372036854775807",
                    ":-9223372036854775808=-9223372036854775808"});
        CHECK(replies_of("$3\r\nabc\r\n$0\r\n\r\n$-1\r\n", p) == texts{"$abc", "$", "_"});
        CHECK(replies_of("$5\r\n" + nul + "\r\n", p) == texts{"$" + nul});
        CHECK(replies_of("*0\r\n*-1\r\n*2\r\n:1\r\n*2\r\n$-1\r\n+x\r\n", p) ==
              texts{"*[]", "_", "*[:1=1 *[_ +x]]"});
    }
}

TEST_CASE("a reader reads every type of RESP3", "[resp]")
{
    for (const protocol p : {protocol::undecided, protocol::resp3}) {
        CHECK(replies_of("_\r\n#t\r\n#f\r\n", p) == texts{"_", "#=1", "#=0"});
        CHECK(replies_of(",1.5\r\n,inf\r\n,-inf\r\n,nan\r\n,-0\r\n", p) ==
              texts{",1.5", ",inf", ",-inf", ",nan", ",-0"});
        CHECK(replies_of("(0\r\n(-123456789012345678901234567890\r\n", p) ==
              texts{"(0", "(-123456789012345678901234567890"});
        CHECK(replies_of("!5\r\nERR x\r\n=7\r\ntxt:a\r\n\r\n", p) == texts{"!ERR x", "=a\r\n"});
        CHECK(replies_of("%1\r\n+k\r\n~2\r\n:1\r\n:2\r\n", p) == texts{"%[+k ~[:1=1 :2=2]]"});
        CHECK(replies_of(">2\r\n+a\r\n:1\r\n+OK\r\n", p) == texts{">[+a :1=1]", "+OK"});
    }
}

TEST_CASE("a reader refuses a type of RESP3 if RESP2 was agreed on", "[resp]")
{
    for (const std::string_view bytes :
         {"_\r\n", "#t\r\n", ",1\r\n", "(1\r\n", "!1\r\nx\r\n", "=4\r\ntxt:\r\n", "%0\r\n",
          "~0\r\n", "|0\r\n", ">1\r\n+x\r\n", "*1\r\n_\r\n"}) {
        INFO(bytes);
        CHECK(read_whole(bytes, protocol::resp2).error == parse_error::wrong_protocol);
        CHECK(read_whole(bytes, protocol::resp3).error == parse_error::none);
    }
}

TEST_CASE("the protocol may change between two replies of one chunk", "[resp]")
{
    reader reader;
    reader.feed("_\r\n*0\r\n_\r\n");
    reply r;
    REQUIRE(reader.next(r) == read_status::ready);
    REQUIRE(reader.next(r) == read_status::ready);
    reader.set_protocol(protocol::resp2);
    CHECK(reader.next(r) == read_status::error);
    CHECK(reader.error() == parse_error::wrong_protocol);
}

TEST_CASE("attributes are no replies and no elements", "[resp]")
{
    CHECK(replies_of("|1\r\n+k\r\n:1\r\n+OK\r\n") == texts{"+OK"});
    CHECK(replies_of("|0\r\n+OK\r\n") == texts{"+OK"});
    CHECK(replies_of("|1\r\n+k\r\n*2\r\n:1\r\n:2\r\n") == texts{});
    CHECK(replies_of("*2\r\n|1\r\n+k\r\n*1\r\n+v\r\n:1\r\n|1\r\n+k\r\n+v\r\n:2\r\n:3\r\n") ==
          texts{"*[:1=1 :2=2]", ":3=3"});
    CHECK(replies_of("|1\r\n|1\r\n+x\r\n+y\r\n+k\r\n+v\r\n|1\r\n+m\r\n+n\r\n%1\r\n+a\r\n+b\r\n") ==
          texts{"%[+a +b]"});
}

TEST_CASE("a reply describes itself", "[resp]")
{
    reader reader;
    reply r;
    CHECK(r.is_null());
    CHECK(r.size() == 0);
    CHECK(r.begin() == r.end());

    reader.feed(
        "-ERR a\r\n!1\r\nb\r\n+s\r\n$1\r\ns\r\n=5\r\ntxt:s\r\n:5\r\n>1\r\n+p\r\n*1\r\n:3\r\n");
    for (const std::string_view text : {"ERR a", "b"}) {
        REQUIRE(reader.next(r) == read_status::ready);
        CHECK(r.is_error());
        CHECK_FALSE(r.is_string());
        CHECK(r.text() == text);
    }
    for (int i = 0; i < 3; ++i) {
        REQUIRE(reader.next(r) == read_status::ready);
        CHECK(r.is_string());
        CHECK_FALSE(r.is_error());
        CHECK(r.text() == "s");
        CHECK(r.integer() == 0);
    }
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.is_integer());
    CHECK(r.integer() == 5);
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.is_push());
    CHECK(r.is_aggregate());
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK_FALSE(r.is_push());
    CHECK(r.is_aggregate());
    CHECK(r.text().empty());
    CHECK(reader.next(r) == read_status::more);
}

TEST_CASE("a caller finds the parts of an aggregate by index and by name", "[resp]")
{
    const std::string_view as_map =
        "%3\r\n$6\r\nserver\r\n%1\r\n+proto\r\n:9\r\n+proto\r\n:3\r\n+modules\r\n*2\r\n+a\r\n+"
        "b\r\n";
    const std::string_view as_array =
        "*6\r\n$6\r\nserver\r\n*2\r\n+proto\r\n:9\r\n+proto\r\n:3\r\n+modules\r\n*2\r\n+a\r\n+"
        "b\r\n";
    for (const std::string_view bytes : {as_map, as_array}) {
        reader reader;
        reader.feed(bytes);
        reply r;
        REQUIRE(reader.next(r) == read_status::ready);
        CHECK(r.size() == 6);
        CHECK(std::distance(r.begin(), r.end()) == 6);
        CHECK(r.at(0).text() == "server");
        CHECK(r.at(1).at(1).integer() == 9);
        CHECK(r.at(3).integer() == 3);
        CHECK(r.at(5).at(1).text() == "b");
        CHECK(r.at(6).is_null());
        CHECK(r.at(0).at(0).is_null());
        CHECK(r.find("proto").integer() == 3);
        CHECK(r.find("modules").size() == 2);
        CHECK(r.find("a").is_null());
        CHECK(r.find("").is_null());
        CHECK(r.at(0).find("server").is_null());
    }
    // A number is no name, and a last name without a value is ignored.
    reader reader;
    reader.feed("*2\r\n:1\r\n+one\r\n*3\r\n+a\r\n+b\r\n+c\r\n*0\r\n");
    reply r;
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.find("1").is_null());
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.find("a").text() == "b");
    CHECK(r.find("c").is_null());
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.find("a").is_null());
}

TEST_CASE("a reader applies its limits to each reply separately", "[resp]")
{
    limits small;
    small.max_elements = 3;
    small.max_reply = 40;
    const std::string_view one = "|1\r\n+k\r\n+v\r\n*1\r\n$2\r\nab\r\n";
    std::string many;
    for (int i = 0; i < 100; ++i) {
        many += one;
    }
    CHECK(read_whole(many, protocol::undecided, small).replies == texts(100, "*[$ab]"));
    CHECK(read_pieces(cut_every(many, 3), protocol::undecided, small).replies ==
          texts(100, "*[$ab]"));
}

TEST_CASE("a reader says whether a reply is incomplete and begins again after reset", "[resp]")
{
    reader reader;
    reply r;
    CHECK_FALSE(reader.in_reply());
    CHECK(reader.next(r) == read_status::more);
    reader.feed("+OK\r\n*2\r\n:1\r\n");
    CHECK(reader.next(r) == read_status::ready);
    CHECK(reader.next(r) == read_status::more);
    CHECK(reader.in_reply());
    reader.feed("");
    CHECK(reader.next(r) == read_status::more);

    reader.set_protocol(protocol::resp2);
    reader.reset();
    CHECK_FALSE(reader.in_reply());
    reader.feed("_\r\n$5\r\nab");
    CHECK(reader.next(r) == read_status::ready);
    CHECK(r.is_null());
    CHECK(reader.next(r) == read_status::more);
    reader.reset();
    reader.feed("?");
    CHECK(reader.next(r) == read_status::error);
    CHECK_FALSE(reader.in_reply());
    reader.reset();
    CHECK(reader.error() == parse_error::none);
    reader.feed("*1\r\n:1\r\n");
    CHECK(reader.next(r) == read_status::ready);
    CHECK(describe(r) == "*[:1=1]");
}

TEST_CASE("a reader accepts nothing after an error until reset", "[resp]")
{
    reader reader;
    reply r;
    reader.feed("+OK\r\n:+5\r\n+OK\r\n");
    CHECK(reader.next(r) == read_status::ready);
    for (int i = 0; i < 3; ++i) {
        CHECK(reader.next(r) == read_status::error);
        CHECK(reader.error() == parse_error::bad_integer);
        reader.feed("+OK\r\n");
    }
}
