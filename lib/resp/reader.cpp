#include "resp/reader.hpp"

#include "resp/number.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace redlock::resp {
namespace {

/// The largest buffer for incomplete replies that is kept, in bytes.
constexpr std::size_t kept_carry = 64 * 1024;

constexpr std::size_t line_end = 2;

/// Whether `bytes` starts with the literal `wanted`. Compiles to one or two comparisons of words.
template <std::size_t N>
bool starts_with(std::string_view bytes, const char (&wanted)[N])
{
    return bytes.size() >= N - 1 && std::memcmp(bytes.data(), wanted, N - 1) == 0;
}

std::size_t find_line_feed(std::string_view bytes)
{
    if (bytes.empty()) {
        return std::string_view::npos;
    }
    const void* const at = std::memchr(bytes.data(), '\n', bytes.size());
    if (at == nullptr) {
        return std::string_view::npos;
    }
    return static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data());
}

}  // namespace

const char* to_string(parse_error e) noexcept
{
    switch (e) {
        case parse_error::none: return "no error";
        case parse_error::unknown_type: return "not a RESP reply";
        case parse_error::wrong_protocol: return "a RESP3 type on a RESP2 connection";
        case parse_error::streamed: return "a streamed string or aggregate, which is not supported";
        case parse_error::bad_line: return "a carriage return or line feed alone";
        case parse_error::bad_integer: return "a malformed integer";
        case parse_error::bad_length: return "a malformed or forbidden length";
        case parse_error::bad_value: return "a malformed value";
        case parse_error::bad_terminator: return "a bulk string without its line end";
        case parse_error::misplaced_push: return "a push inside of a reply";
        case parse_error::line_too_long: return "a line that is too long";
        case parse_error::bulk_too_long: return "a bulk string that is too long";
        case parse_error::too_many_elements: return "a reply of too many elements";
        case parse_error::too_deep: return "a reply nested too deeply";
        case parse_error::reply_too_long: return "a reply that is too long";
    }
    return "?";
}

reader::reader(const limits& l) : limits_(l)
{
    limits_.max_depth = std::min(limits_.max_depth, limits::depth_capacity);
    nodes_.reserve(16);
}

void reader::feed(std::string_view bytes)
{
    assert(chunk_.empty() && "fed before the last chunk was used up");
    if (error_ == parse_error::none) {
        chunk_ = bytes;
    }
}

void reader::reset()
{
    protocol_ = protocol::undecided;
    error_ = parse_error::none;
    carried_ = false;
    in_payload_ = false;
    chunk_ = {};
    std::string().swap(carry_);
    used_ = 0;
    announced_ = 0;
    depth_ = 0;
    nodes_.clear();
}

read_status reader::next(reply& out)
{
    if (next_at_a_glance(out)) {
        return read_status::ready;
    }
    if (error_ != parse_error::none) {
        return read_status::error;
    }
    if (chunk_.empty()) {
        return read_status::more;
    }
    switch (parse()) {
        case step::complete: finish(out); return read_status::ready;
        case step::error: return read_status::error;
        case step::more:
        case step::go_on: break;
    }
    stash();
    return read_status::more;
}

/// Recognises the usual replies to a lock's commands by their first bytes.
bool reader::next_at_a_glance(reply& out)
{
    // In the middle of a reply the next bytes may be anything. After an error there are no bytes.
    if (carried_ || chunk_.size() < 3) {
        return false;
    }
    switch (chunk_[0]) {
        case '+':
            if (!starts_with(chunk_, "+OK\r\n")) {
                return false;
            }
            scalar(reply_type::simple_string, 1, 2, 0, 5, out);
            return true;
        case '$':
            if (!starts_with(chunk_, "$-1\r\n")) {
                return false;
            }
            scalar(reply_type::null, 0, 0, 0, 5, out);
            return true;
        case ':': return integer_at_a_glance(out);
        case '_':
            if (protocol_ == protocol::resp2 || !starts_with(chunk_, "_\r\n")) {
                return false;
            }
            scalar(reply_type::null, 0, 0, 0, 3, out);
            return true;
        default: return false;
    }
}

/// Recognises an integer that isn't negative and can't overflow.
bool reader::integer_at_a_glance(reply& out)
{
    const std::size_t most = std::min(chunk_.size(), 1 + std::size_t{digits_at_a_glance});
    std::int64_t value = 0;
    std::size_t end = 1;
    for (; end < most && chunk_[end] >= '0' && chunk_[end] <= '9'; ++end) {
        value = 10 * value + (chunk_[end] - '0');
    }
    const bool is_shortest = end > 1 && (chunk_[1] != '0' || end == 2);
    if (!is_shortest || !starts_with(chunk_.substr(end), "\r\n")) {
        return false;
    }
    scalar(reply_type::integer, 1, end - 1, value, end + 2, out);
    return true;
}

void reader::scalar(reply_type type, std::size_t offset, std::size_t length, std::int64_t integer,
                    std::size_t bytes, reply& out)
{
    single_ = {.integer = integer,
               .offset = static_cast<std::uint32_t>(offset),
               .length = static_cast<std::uint32_t>(length),
               .type = type};
    out = {&single_, chunk_.data()};
    chunk_.remove_prefix(bytes);
}

void reader::finish(reply& out)
{
    assert(depth_ == 0 && !nodes_.empty() && nodes_.front().span == nodes_.size());
    out = {nodes_.data(), base()};
    if (!carried_) {
        chunk_.remove_prefix(used_);
    }
    carried_ = false;
    used_ = 0;
    announced_ = 0;
}

/// Copies the incomplete reply, because the chunk may be destroyed.
void reader::stash()
{
    if (carried_ || chunk_.empty()) {
        return;
    }
    if (carry_.capacity() > kept_carry) {
        std::string().swap(carry_);
    }
    carry_.assign(chunk_);
    carried_ = true;
    chunk_ = {};
}

reader::step reader::fail(parse_error e)
{
    error_ = e;
    chunk_ = {};
    std::string().swap(carry_);
    carried_ = false;
    return step::error;
}

reader::step reader::parse()
{
    if (used_ == 0) {
        nodes_.clear();
    }
    step s = step::go_on;
    while (s == step::go_on) {
        s = in_payload_ ? parse_payload() : parse_line();
    }
    return s;
}

reader::step reader::take_line(std::string_view& line)
{
    const std::size_t room =
        std::min<std::size_t>(limits_.max_line, std::size_t{limits_.max_reply} - used_);
    const std::size_t pending = held() - used_;
    const std::string_view fresh = carried_ ? chunk_ : chunk_.substr(used_);
    const std::size_t known = carried_ ? pending : 0;
    const std::size_t looked_at = std::min(fresh.size(), room - known);
    const std::size_t feed_at = find_line_feed(fresh.substr(0, looked_at));
    const bool found = feed_at != std::string_view::npos;
    if (carried_) {
        const std::size_t taken = found ? feed_at + 1 : looked_at;
        carry_.append(chunk_.substr(0, taken));
        chunk_.remove_prefix(taken);
    }
    if (!found) {
        return lacking_line(room);
    }
    const std::size_t size = known + feed_at + 1;
    line = {base() + used_, size};
    used_ += size;
    return step::go_on;
}

/// Waits for the rest of a line, unless its beginning is already invalid.
reader::step reader::lacking_line(std::size_t room)
{
    const std::size_t pending = held() - used_;
    if (pending != 0 && room != 0) {
        const parse_error e = check_mark(base()[used_]);
        if (e != parse_error::none) {
            return fail(e);
        }
    }
    if (pending < room) {
        return step::more;
    }
    return fail(room == limits_.max_line ? parse_error::line_too_long
                                         : parse_error::reply_too_long);
}

reader::step reader::take_payload(std::string_view& payload)
{
    const std::size_t wanted = payload_ + line_end;
    if (carried_) {
        const std::size_t missing = wanted - (carry_.size() - used_);
        const std::size_t taken = std::min(missing, chunk_.size());
        carry_.append(chunk_.substr(0, taken));
        chunk_.remove_prefix(taken);
    }
    if (held() - used_ < wanted) {
        return step::more;
    }
    payload = {base() + used_, payload_};
    if (payload.data()[payload_] != '\r' || payload.data()[payload_ + 1] != '\n') {
        return fail(parse_error::bad_terminator);
    }
    used_ += wanted;
    return step::go_on;
}

reader::step reader::parse_payload()
{
    std::string_view payload;
    if (const step s = take_payload(payload); s != step::go_on) {
        return s;
    }
    in_payload_ = false;
    if (payload_type_ == reply_type::verbatim_string) {
        // The payload starts with the three letters of a format and a colon.
        if (payload.size() < 4 || payload[3] != ':') {
            return fail(parse_error::bad_value);
        }
        payload.remove_prefix(4);
    }
    return add_scalar(payload_type_, payload);
}

reader::step reader::parse_line()
{
    std::string_view line;
    if (const step s = take_line(line); s != step::go_on) {
        return s;
    }
    if (const parse_error e = check_mark(line[0]); e != parse_error::none) {
        return fail(e);
    }
    // The first line feed ends the line. The first carriage return must come right before it.
    if (line.find('\r') != line.size() - line_end) {
        return fail(parse_error::bad_line);
    }
    return parse_header(line[0], line.substr(1, line.size() - 1 - line_end));
}

parse_error reader::check_mark(char mark) const
{
    switch (mark) {
        case '+':
        case '-':
        case ':':
        case '$':
        case '*': return parse_error::none;
        case '_':
        case '#':
        case ',':
        case '(':
        case '!':
        case '=':
        case '%':
        case '~':
        case '|':
        case '>': break;
        case ';':
        case '.': return parse_error::streamed;
        default: return parse_error::unknown_type;
    }
    if (protocol_ == protocol::resp2) {
        return parse_error::wrong_protocol;
    }
    if (mark == '>' && depth_ != 0) {
        return parse_error::misplaced_push;
    }
    return parse_error::none;
}

reader::step reader::parse_header(char mark, std::string_view rest)
{
    switch (mark) {
        case '+': return add_scalar(reply_type::simple_string, rest);
        case '-': return add_scalar(reply_type::simple_error, rest);
        case ':': {
            std::int64_t value = 0;
            if (!parse_integer(rest, value)) {
                return fail(parse_error::bad_integer);
            }
            return add_scalar(reply_type::integer, rest, value);
        }
        case '_':
            if (!rest.empty()) {
                return fail(parse_error::bad_value);
            }
            return add_scalar(reply_type::null, rest);
        case '#':
            if (rest != "t" && rest != "f") {
                return fail(parse_error::bad_value);
            }
            return add_scalar(reply_type::boolean, {}, rest == "t" ? 1 : 0);
        case ',':
            if (!is_real(rest)) {
                return fail(parse_error::bad_value);
            }
            return add_scalar(reply_type::real, rest);
        case '(':
            if (!is_whole_number(rest)) {
                return fail(parse_error::bad_value);
            }
            return add_scalar(reply_type::big_number, rest);
        case '$': return open_bulk(reply_type::bulk_string, rest);
        case '!': return open_bulk(reply_type::bulk_error, rest);
        case '=': return open_bulk(reply_type::verbatim_string, rest);
        default: return open_aggregate(mark, rest);
    }
}

reader::step reader::open_bulk(reply_type type, std::string_view rest)
{
    if (rest == "-1" && type == reply_type::bulk_string) {
        return add_scalar(reply_type::null, {});
    }
    if (rest == "?") {
        return fail(parse_error::streamed);
    }
    std::int64_t length = 0;
    if (!parse_integer(rest, length) || length < 0) {
        return fail(parse_error::bad_length);
    }
    if (length > limits_.max_bulk) {
        return fail(parse_error::bulk_too_long);
    }
    const auto wanted = static_cast<std::size_t>(length) + line_end;
    if (wanted > limits_.max_reply - used_) {
        return fail(parse_error::reply_too_long);
    }
    payload_ = static_cast<std::uint32_t>(length);
    payload_type_ = type;
    in_payload_ = true;
    return step::go_on;
}

reader::step reader::open_aggregate(char mark, std::string_view rest)
{
    if (rest == "-1" && mark == '*') {
        return add_scalar(reply_type::null, {});
    }
    if (rest == "?") {
        return fail(parse_error::streamed);
    }
    std::int64_t count = 0;
    // A push contains at least its kind.
    const std::int64_t least = mark == '>' ? 1 : 0;
    if (!parse_integer(rest, count) || count < least) {
        return fail(parse_error::bad_length);
    }
    // The limit is divided, because doubling the announced count could overflow.
    const std::uint32_t each = mark == '%' || mark == '|' ? 2 : 1;
    if (count > (limits_.max_elements - announced_) / each) {
        return fail(parse_error::too_many_elements);
    }
    const std::uint32_t children = static_cast<std::uint32_t>(count) * each;
    if (children != 0 && depth_ == limits_.max_depth) {
        return fail(parse_error::too_deep);
    }
    announced_ += children;
    return add_aggregate(mark, children);
}

reader::step reader::add_aggregate(char mark, std::uint32_t children)
{
    const bool attribute = mark == '|';
    if (attribute && children == 0) {
        return step::go_on;
    }
    node n;
    n.type = mark == '%'   ? reply_type::map
             : mark == '~' ? reply_type::set
             : mark == '>' ? reply_type::push
                           : reply_type::array;
    n.children = children;
    nodes_.push_back(n);
    if (children == 0) {
        return value_done();
    }
    const auto at = static_cast<std::uint32_t>(nodes_.size() - 1);
    frames_[depth_++] = {.at = at, .remaining = children, .attribute = attribute};
    return step::go_on;
}

reader::step reader::add_scalar(reply_type type, std::string_view text, std::int64_t integer)
{
    node n;
    n.type = type;
    n.integer = integer;
    if (!text.empty()) {
        n.offset = static_cast<std::uint32_t>(text.data() - base());
        n.length = static_cast<std::uint32_t>(text.size());
    }
    nodes_.push_back(n);
    return value_done();
}

/// Closes the aggregates that the last value completes.
reader::step reader::value_done()
{
    while (depth_ != 0) {
        frame& top = frames_[depth_ - 1];
        if (--top.remaining != 0) {
            return step::go_on;
        }
        --depth_;
        if (top.attribute) {
            // An attribute isn't a value of the enclosing aggregate, which still waits for that
            // value.
            nodes_.resize(top.at);
            return step::go_on;
        }
        nodes_[top.at].span = static_cast<std::uint32_t>(nodes_.size() - top.at);
    }
    return step::complete;
}

}  // namespace redlock::resp
