#include "reading.hpp"

#include <algorithm>

namespace redlock::test {
namespace {

using resp::reply_type;

const char* mark(reply_type t)
{
    switch (t) {
        case reply_type::simple_string: return "+";
        case reply_type::simple_error: return "-";
        case reply_type::integer: return ":";
        case reply_type::bulk_string: return "$";
        case reply_type::array: return "*";
        case reply_type::null: return "_";
        case reply_type::boolean: return "#";
        case reply_type::real: return ",";
        case reply_type::big_number: return "(";
        case reply_type::bulk_error: return "!";
        case reply_type::verbatim_string: return "=";
        case reply_type::map: return "%";
        case reply_type::set: return "~";
        case reply_type::push: return ">";
    }
    return "?";
}

}  // namespace

std::string describe(const resp::reply& r)
{
    std::string out = mark(r.type());
    if (r.is_aggregate()) {
        out += "[";
        for (const resp::reply& child : r) {
            out += describe(child) + " ";
        }
        if (r.size() != 0) {
            out.pop_back();
        }
        return out + "]";
    }
    out += r.text();
    const bool shows_value = r.is_integer() || r.type() == reply_type::boolean;
    return shows_value ? out + "=" + std::to_string(r.integer()) : out;
}

readings read_pieces(const std::vector<std::string_view>& pieces, resp::protocol p,
                     const resp::limits& l)
{
    resp::reader reader(l);
    reader.set_protocol(p);
    readings found;
    for (const std::string_view piece : pieces) {
        std::vector<char> memory(piece.begin(), piece.end());
        reader.feed({memory.data(), memory.size()});
        resp::reply r;
        while ((found.end = reader.next(r)) == resp::read_status::ready) {
            found.replies.push_back(describe(r));
        }
        std::fill(memory.begin(), memory.end(), '#');
    }
    found.error = reader.error();
    return found;
}

readings read_whole(std::string_view bytes, resp::protocol p, const resp::limits& l)
{
    return read_pieces({bytes}, p, l);
}

std::vector<std::string_view> cut_every(std::string_view bytes, std::size_t size)
{
    std::vector<std::string_view> pieces;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
        pieces.push_back(bytes.substr(0, size));
    }
    return pieces;
}

}  // namespace redlock::test
