#include "corpus.hpp"
#include "reading.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::resp;
using namespace redlock::test;

TEST_CASE("a reader gives the same replies wherever the stream is cut", "[resp]")
{
    std::vector<std::string> streams = good_streams();
    streams.push_back(std::accumulate(streams.begin(), streams.end(), std::string()));
    for (const std::string& stream : streams) {
        INFO(stream);
        const std::string_view bytes = stream;
        const readings whole = read_whole(bytes);
        CHECK_FALSE(whole.replies.empty());
        CHECK(whole.end == read_status::more);
        for (std::size_t at = 0; at <= bytes.size(); ++at) {
            if (read_pieces({bytes.substr(0, at), bytes.substr(at)}) != whole) {
                FAIL("cut at " << at);
            }
        }
        for (std::size_t size = 1; size < 20; ++size) {
            if (read_pieces(cut_every(bytes, size)) != whole) {
                FAIL("pieces of " << size);
            }
        }
    }
}

TEST_CASE("a reader gives the same replies for all cuts of a short stream", "[resp]")
{
    for (const std::string_view bytes : {"*2\r\n$1\r\n\n\r\n:1\r\n", "+OK\r\n$-1\r\n:1\r\n",
                                         "|1\r\n+\r\n_\r\n%0\r\n", "$2\r\nab\rx+OK\r\n"}) {
        const readings whole = read_whole(bytes);
        for (std::size_t cuts = 0; cuts < std::size_t{1} << (bytes.size() - 1); ++cuts) {
            std::vector<std::string_view> pieces;
            std::size_t from = 0;
            for (std::size_t i = 1; i <= bytes.size(); ++i) {
                if (i != bytes.size() && ((cuts >> (i - 1)) & 1U) == 0) {
                    continue;
                }
                pieces.push_back(bytes.substr(from, i - from));
                from = i;
            }
            if (read_pieces(pieces) != whole) {
                FAIL("cuts " << cuts << " of " << bytes);
            }
        }
    }
}

TEST_CASE("a reader reads a long reply byte by byte in linear time", "[resp]")
{
    // A reader that began again at each byte would parse some 10^9 values.
    std::string stream = "*4000\r\n";
    for (int i = 0; i < 4000; ++i) {
        stream += "$250\r\n" + std::string(250, 'x') + "\r\n";
    }
    const std::string long_line = "+" + std::string(60'000, 'y') + "\r\n";
    stream += long_line;
    reader reader;
    reply r;
    std::size_t ready = 0;
    for (const char& c : stream) {
        reader.feed({&c, 1});
        for (read_status s; (s = reader.next(r)) != read_status::more;) {
            REQUIRE(s == read_status::ready);
            ++ready;
            CHECK((ready == 2 || r.size() == 4000));
            CHECK((ready == 1 || r.text().size() == 60'000));
        }
    }
    CHECK(ready == 2);
}

TEST_CASE("a reply points into the chunk that brought it", "[resp]")
{
    const std::string_view chunk = "$3\r\nabc\r\n*1\r\n$3\r\ndef\r\n+x\r\n";
    reader reader;
    reader.feed(chunk);
    reply r;
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.text().data() == chunk.data() + 4);
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.at(0).text().data() == chunk.data() + chunk.find("def"));

    // Also after the rest of a reply that began in the chunk before.
    REQUIRE(reader.next(r) == read_status::ready);
    REQUIRE(reader.next(r) == read_status::more);
    reader.feed("$5\r\nab");
    REQUIRE(reader.next(r) == read_status::more);
    const std::string_view rest = "cde\r\n$3\r\nxyz\r\n";
    reader.feed(rest);
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.text() == "abcde");
    REQUIRE(reader.next(r) == read_status::ready);
    CHECK(r.text().data() == rest.data() + rest.find("xyz"));
}
