#include "support/resp_text.hpp"

#include <charconv>
#include <stdexcept>

namespace redlock::test {
namespace {

std::int64_t to_number(std::string_view text)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::runtime_error("not a RESP number: " + std::string(text));
    }
    return value;
}

std::optional<parsed_reply> parse_bulk(std::string_view bytes, std::size_t line_end)
{
    const auto length = to_number(bytes.substr(1, line_end - 1));
    if (length < 0) {
        return parsed_reply{{}, line_end + 2};
    }
    const auto size = static_cast<std::size_t>(length);
    if (bytes.size() < line_end + 2 + size + 2) {
        return std::nullopt;
    }
    if (bytes.substr(line_end + 2 + size, 2) != "\r\n") {
        throw std::runtime_error("a RESP bulk string without its end");
    }
    const auto text = bytes.substr(line_end + 2, size);
    return parsed_reply{{reply::kind::bulk, std::string(text), 0, {}}, line_end + 2 + size + 2};
}

std::optional<parsed_reply> parse_items(std::string_view bytes, std::size_t line_end,
                                        reply::kind type)
{
    auto count = to_number(bytes.substr(1, line_end - 1));
    if (count < 0) {
        return parsed_reply{{}, line_end + 2};
    }
    count *= type == reply::kind::map ? 2 : 1;
    parsed_reply result{{type, {}, 0, {}}, line_end + 2};
    for (std::int64_t i = 0; i < count; ++i) {
        auto item = parse_reply(bytes.substr(result.size));
        if (!item) {
            return std::nullopt;
        }
        result.size += item->size;
        result.value.items.push_back(std::move(item->value));
    }
    return result;
}

}  // namespace

std::string reply::str() const
{
    switch (type) {
        case kind::status:
        case kind::bulk:
        case kind::number: return text;
        case kind::error: return "-" + text;
        case kind::integer: return std::to_string(integer);
        case kind::null: return "(nil)";
        case kind::boolean: return integer != 0 ? "true" : "false";
        case kind::array:
        case kind::map:
        case kind::set:
        case kind::push: break;
    }
    std::string result = "[";
    for (const auto& item : items) {
        result += result.size() > 1 ? ", " : "";
        result += item.str();
    }
    return result + "]";
}

std::optional<parsed_reply> parse_reply(std::string_view bytes)
{
    const auto line_end = bytes.find("\r\n");
    if (line_end == std::string_view::npos) {
        return std::nullopt;
    }
    const auto rest = bytes.substr(1, line_end - 1);
    const auto line = [&](reply::kind type) {
        return parsed_reply{{type, std::string(rest), 0, {}}, line_end + 2};
    };
    switch (line_end == 0 ? '\0' : bytes.front()) {
        case '+': return line(reply::kind::status);
        case '-': return line(reply::kind::error);
        case ',':
        case '(': return line(reply::kind::number);
        case ':':
            return parsed_reply{{reply::kind::integer, {}, to_number(rest), {}}, line_end + 2};
        case '#': return parsed_reply{{reply::kind::boolean, {}, rest == "t", {}}, line_end + 2};
        case '_': return parsed_reply{{}, line_end + 2};
        case '$':
        case '=': return parse_bulk(bytes, line_end);
        case '*': return parse_items(bytes, line_end, reply::kind::array);
        case '%': return parse_items(bytes, line_end, reply::kind::map);
        case '~': return parse_items(bytes, line_end, reply::kind::set);
        case '>': return parse_items(bytes, line_end, reply::kind::push);
        default: throw std::runtime_error("not RESP: " + std::string(bytes.substr(0, 64)));
    }
}

namespace wire {

std::string command(const std::vector<std::string>& arguments)
{
    std::vector<std::string> items;
    for (const auto& argument : arguments) {
        items.push_back(bulk(argument));
    }
    return aggregate('*', items);
}

std::string status(std::string_view text)
{
    return "+" + std::string(text) + "\r\n";
}

std::string error(std::string_view text)
{
    return "-" + std::string(text) + "\r\n";
}

std::string integer(std::int64_t value)
{
    return ":" + std::to_string(value) + "\r\n";
}

std::string bulk(std::string_view text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string null()
{
    return "$-1\r\n";
}

std::string null3()
{
    return "_\r\n";
}

std::string aggregate(char type, const std::vector<std::string>& items)
{
    const auto count = type == '%' ? items.size() / 2 : items.size();
    std::string result = type + std::to_string(count) + "\r\n";
    for (const auto& item : items) {
        result += item;
    }
    return result;
}

}  // namespace wire
}  // namespace redlock::test
