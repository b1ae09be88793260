#include "input.hpp"
#include "resp/reader.hpp"
#include "unit/resp/reading.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The reader of replies. The bytes are read in the pieces that the input chooses and as a whole.
// The input is a byte for protocol and limits, then a list of piece sizes of a byte each up to a
// zero, then the stream.

namespace redlock::test {
namespace {

using resp::reply_type;

/// Tight limits let short inputs exceed them.
resp::limits limits_of(bool tight)
{
    resp::limits l;
    if (tight) {
        l.max_line = 32;
        l.max_bulk = 24;
        l.max_elements = 12;
        l.max_depth = 3;
        l.max_reply = 96;
    }
    return l;
}

std::vector<std::size_t> read_sizes(input& in)
{
    std::vector<std::size_t> sizes;
    while (const std::uint8_t size = in.byte()) {
        sizes.push_back(size);
    }
    return sizes;
}

/// Pieces of these sizes, repeatedly. One piece if there are no sizes.
std::vector<std::string_view> cut(std::string_view stream, const std::vector<std::size_t>& sizes)
{
    std::vector<std::string_view> pieces;
    for (std::size_t i = 0; !stream.empty(); ++i) {
        const std::size_t size = sizes.empty() ? stream.size() : sizes[i % sizes.size()];
        pieces.push_back(stream.substr(0, size));
        stream.remove_prefix(pieces.back().size());
    }
    return pieces;
}

/// The size of all values in a reply, with all levels.
struct extent {
    std::size_t values = 0;
    std::size_t bytes = 0;
    unsigned depth = 0;
};

/// Calls every function of a reply.
extent look_at(const resp::reply& r, const resp::limits& l)
{
    extent e;
    e.bytes = r.text().size();
    require(r.text().size() <= std::max(l.max_line, l.max_bulk), "a text is within its limit");
    require(r.is_aggregate() || r.size() == 0, "only an aggregate has a size");
    require(r.at(r.size()).is_null(), "behind the last value there is none");
    require(r.is_integer() || r.type() == reply_type::boolean || r.integer() == 0,
            "only an integer and a boolean have a value");
    (void)r.find("proto").text();
    std::size_t i = 0;
    for (const resp::reply& child : r) {
        require(r.at(i++).text().data() == child.text().data(), "a value is found by its place");
        require(!child.is_push(), "no push inside of a reply");
        const extent inner = look_at(child, l);
        e.values += 1 + inner.values;
        e.bytes += inner.bytes;
        e.depth = std::max(e.depth, inner.depth);
    }
    require(i == r.size(), "an aggregate has as many values as it says");
    e.depth += r.size() > 0 ? 1u : 0u;
    return e;
}

void check_limits(std::string_view stream, resp::protocol p, const resp::limits& l)
{
    resp::reader reader(l);
    reader.set_protocol(p);
    reader.feed(stream);
    resp::reply r;
    while (reader.next(r) == resp::read_status::ready) {
        const extent e = look_at(r, l);
        require(e.values <= l.max_elements, "no more values than allowed");
        require(e.depth <= l.max_depth, "not nested more deeply than allowed");
        require(e.bytes <= l.max_reply && e.bytes <= stream.size(), "not longer than allowed");
        require(!r.is_push() || p != resp::protocol::resp2, "RESP2 has no pushes");
    }
}

// Writes a reply again.

void append_line(std::string& out, char mark, std::string_view text)
{
    out += mark;
    out += text;
    out += "\r\n";
}

void append_bulk(std::string& out, char mark, std::string_view text)
{
    append_line(out, mark, std::to_string(text.size()));
    out += text;
    out += "\r\n";
}

void append_values(std::string& out, char mark, std::size_t count, const resp::reply& r);

void append_reply(std::string& out, const resp::reply& r)
{
    switch (r.type()) {
        case reply_type::simple_string: return append_line(out, '+', r.text());
        case reply_type::simple_error: return append_line(out, '-', r.text());
        case reply_type::integer: return append_line(out, ':', std::to_string(r.integer()));
        case reply_type::bulk_string: return append_bulk(out, '$', r.text());
        case reply_type::array: return append_values(out, '*', r.size(), r);
        case reply_type::null: return append_line(out, '_', {});
        case reply_type::boolean: return append_line(out, '#', r.integer() == 1 ? "t" : "f");
        case reply_type::real: return append_line(out, ',', r.text());
        case reply_type::big_number: return append_line(out, '(', r.text());
        case reply_type::bulk_error: return append_bulk(out, '!', r.text());
        case reply_type::verbatim_string:
            return append_bulk(out, '=', "txt:" + std::string(r.text()));
        case reply_type::map: return append_values(out, '%', r.size() / 2, r);
        case reply_type::set: return append_values(out, '~', r.size(), r);
        case reply_type::push: return append_values(out, '>', r.size(), r);
    }
    require(false, "a reply has a type");
}

void append_values(std::string& out, char mark, std::size_t count, const resp::reply& r)
{
    append_line(out, mark, std::to_string(count));
    for (const resp::reply& child : r) {
        append_reply(out, child);
    }
}

/// Each reply, written again from its values, must read as the same.
void check_round_trip(std::string_view stream)
{
    resp::reader reader;
    reader.feed(stream);
    resp::reply r;
    while (reader.next(r) == resp::read_status::ready) {
        std::string again;
        append_reply(again, r);
        const readings once_more = read_whole(again);
        require(once_more.replies == std::vector<std::string>{describe(r)},
                "a reply written anew is the same reply");
    }
}

}  // namespace

void run_target(std::string_view bytes)
{
    input in(bytes);
    const std::uint8_t how = in.byte();
    const auto p = static_cast<resp::protocol>(how % 3);
    const resp::limits l = limits_of((how / 3) % 2 == 1);
    const std::vector<std::size_t> sizes = read_sizes(in);
    const std::string_view stream = in.rest();

    const readings whole = read_whole(stream, p, l);
    require((whole.end == resp::read_status::error) == (whole.error != resp::parse_error::none),
            "an error has a reason");
    require(whole.replies.size() <= stream.size() / 3, "a reply has three bytes at least");
    if (!stream.empty()) {
        require(read_pieces(cut(stream, sizes), p, l) == whole, "cuts change nothing");
    }
    check_limits(stream, p, l);
    check_round_trip(stream);
}

}  // namespace redlock::test
