#include "resp/encoder.hpp"

#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace redlock::resp {
namespace {

/// Room for "*" or "$", a 64-bit number with its sign, and a line end.
constexpr std::size_t max_header = 24;

/// Bytes that are already encoded.
struct raw {
    std::string_view bytes;
};

/// One bulk string that consists of up to three parts.
struct key {
    std::string_view prefix;
    std::string_view resource;
    std::string_view suffix{};

    [[nodiscard]] constexpr std::size_t size() const
    {
        return prefix.size() + resource.size() + suffix.size();
    }
};

constexpr std::size_t bound(raw part)
{
    return part.bytes.size();
}

constexpr std::size_t bound(std::string_view arg)
{
    return max_header + arg.size() + 2;
}

constexpr std::size_t bound(key k)
{
    return max_header + k.size() + 2;
}

constexpr std::size_t bound(std::int64_t)
{
    return 2 * max_header;
}

/// Writes into room that was reserved before. The functions are always inlined. This halves the
/// time of a command, because the sizes of literal words become constants.
class writer {
public:
    explicit writer(char* at) : at_(at) {}

    [[nodiscard]] char* at() const { return at_; }

    [[gnu::always_inline]] void header(char mark, std::size_t count)
    {
        *at_++ = mark;
        if (count < 10) {
            *at_++ = static_cast<char>('0' + count);
        } else if (count < 100) {
            *at_++ = static_cast<char>('0' + count / 10);
            *at_++ = static_cast<char>('0' + count % 10);
        } else {
            at_ = std::to_chars(at_, at_ + max_header, count).ptr;
        }
        line_end();
    }

    [[gnu::always_inline]] void put(raw part) { copy(part.bytes); }

    [[gnu::always_inline]] void put(std::string_view arg)
    {
        header('$', arg.size());
        copy(arg);
        line_end();
    }

    [[gnu::always_inline]] void put(key k)
    {
        header('$', k.size());
        copy(k.prefix);
        copy(k.resource);
        copy(k.suffix);
        line_end();
    }

    [[gnu::always_inline]] void put(std::int64_t number)
    {
        char digits[max_header];
        const char* const end = std::to_chars(digits, digits + max_header, number).ptr;
        put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
    }

private:
    [[gnu::always_inline]] void copy(std::string_view bytes)
    {
        // An empty view may have a null pointer, which memcpy forbids.
        if (!bytes.empty()) {
            std::memcpy(at_, bytes.data(), bytes.size());
        }
        at_ += bytes.size();
    }

    void line_end()
    {
        *at_++ = '\r';
        *at_++ = '\n';
    }

    char* at_;
};

/// Reserves `most` bytes, lets `write` fill them, and returns the unused ones.
template <class Write>
void grow(std::string& out, std::size_t most, Write write)
{
    const std::size_t before = out.size();
    out.resize(before + most);
    writer w(out.data() + before);
    write(w);
    const auto size = static_cast<std::size_t>(w.at() - out.data());
    assert(size <= out.size());
    out.resize(size);
}

template <class... Parts>
void append(std::string& out, const Parts&... parts)
{
    grow(out, (bound(parts) + ...), [&](writer& w) { (w.put(parts), ...); });
}

/// Writes an array. `head` contains `head_count` encoded words; this function writes the array's
/// header.
void append_list(std::string& out, raw head, std::size_t head_count,
                 std::initializer_list<std::string_view> args)
{
    std::size_t most = max_header + bound(head);
    for (const std::string_view arg : args) {
        most += bound(arg);
    }
    grow(out, most, [&](writer& w) {
        w.header('*', head_count + args.size());
        w.put(head);
        for (const std::string_view arg : args) {
            w.put(arg);
        }
    });
}

constexpr raw one_key{"$1\r\n1\r\n"};
constexpr raw evalsha_count{"*7\r\n$7\r\nEVALSHA\r\n"};
constexpr raw eval_count{"*7\r\n$4\r\nEVAL\r\n"};
constexpr raw evalsha_key{"*4\r\n$7\r\nEVALSHA\r\n"};
constexpr raw evalsha_key_arg{"*5\r\n$7\r\nEVALSHA\r\n"};
constexpr raw evalsha_key_arg_arg{"*6\r\n$7\r\nEVALSHA\r\n"};
constexpr raw eval_key{"*4\r\n$4\r\nEVAL\r\n"};
constexpr raw eval_key_arg{"*5\r\n$4\r\nEVAL\r\n"};
constexpr raw eval_key_arg_arg{"*6\r\n$4\r\nEVAL\r\n"};

constexpr raw hello{"$5\r\nHELLO\r\n$1\r\n3\r\n"};
constexpr raw hello_auth{"$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n"};

}  // namespace

void append_command(std::string& out, std::initializer_list<std::string_view> args)
{
    append_list(out, raw{}, 0, args);
}

void append_set_nx_px(std::string& out, std::string_view prefix, std::string_view resource,
                      std::string_view token, std::int64_t ttl_ms)
{
    append(out, raw{"*6\r\n$3\r\nSET\r\n"}, key{prefix, resource}, token,
           raw{"$2\r\nNX\r\n$2\r\nPX\r\n"}, ttl_ms);
}

void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource)
{
    append(out, evalsha_key, sha1, one_key, key{prefix, resource});
}

void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource, std::string_view arg)
{
    append(out, evalsha_key_arg, sha1, one_key, key{prefix, resource}, arg);
}

void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource, std::string_view arg, std::string_view arg2)
{
    append(out, evalsha_key_arg_arg, sha1, one_key, key{prefix, resource}, arg, arg2);
}

void append_evalsha(std::string& out, std::string_view sha1, std::string_view prefix,
                    std::string_view resource, std::string_view arg, std::int64_t arg2)
{
    append(out, evalsha_key_arg_arg, sha1, one_key, key{prefix, resource}, arg, arg2);
}

void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource)
{
    append(out, eval_key, text, one_key, key{prefix, resource});
}

void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource, std::string_view arg)
{
    append(out, eval_key_arg, text, one_key, key{prefix, resource}, arg);
}

void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource, std::string_view arg, std::string_view arg2)
{
    append(out, eval_key_arg_arg, text, one_key, key{prefix, resource}, arg, arg2);
}

void append_eval(std::string& out, std::string_view text, std::string_view prefix,
                 std::string_view resource, std::string_view arg, std::int64_t arg2)
{
    append(out, eval_key_arg_arg, text, one_key, key{prefix, resource}, arg, arg2);
}

void append_delifeq(std::string& out, std::string_view prefix, std::string_view resource,
                    std::string_view token)
{
    append(out, raw{"*3\r\n$7\r\nDELIFEQ\r\n"}, key{prefix, resource}, token);
}

void append_delex(std::string& out, std::string_view prefix, std::string_view resource,
                  std::string_view token)
{
    append(out, raw{"*4\r\n$5\r\nDELEX\r\n"}, key{prefix, resource}, raw{"$4\r\nIFEQ\r\n"}, token);
}

void append_get(std::string& out, std::string_view prefix, std::string_view resource)
{
    append(out, raw{"*2\r\n$3\r\nGET\r\n"}, key{prefix, resource});
}

void append_getrange(std::string& out, std::string_view prefix, std::string_view resource,
                     std::string_view suffix, std::int64_t last)
{
    append(out, raw{"*4\r\n$8\r\nGETRANGE\r\n"}, key{prefix, resource, suffix}, raw{"$1\r\n0\r\n"},
           last);
}

void append_incr(std::string& out, std::string_view prefix, std::string_view resource,
                 std::string_view suffix)
{
    append(out, raw{"*2\r\n$4\r\nINCR\r\n"}, key{prefix, resource, suffix});
}

void append_evalsha_count(std::string& out, std::string_view sha1, std::string_view prefix,
                          std::string_view resource, std::string_view suffix,
                          const count_arguments& a)
{
    append(out, evalsha_count, sha1, one_key, key{prefix, resource, suffix}, a.seed_us, a.slack_us,
           a.ttl_ms);
}

void append_eval_count(std::string& out, std::string_view text, std::string_view prefix,
                       std::string_view resource, std::string_view suffix, const count_arguments& a)
{
    append(out, eval_count, text, one_key, key{prefix, resource, suffix}, a.seed_us, a.slack_us,
           a.ttl_ms);
}

void append_script(std::string& out, std::string_view command, std::string_view script,
                   const key_list& keys, std::initializer_list<std::string_view> args)
{
    const bool twice = !keys.suffix.empty();
    const std::size_t count = keys.names.size() * (twice ? 2 : 1);
    const auto number = static_cast<std::int64_t>(count);
    std::size_t most = max_header + bound(command) + bound(script) + bound(number);
    for (const std::string& name : keys.names) {
        most += bound(key{keys.prefix, name}) +
                (twice ? bound(key{keys.prefix, name, keys.suffix}) : 0);
    }
    for (const std::string_view arg : args) {
        most += bound(arg);
    }
    grow(out, most, [&](writer& w) {
        w.header('*', 3 + count + args.size());
        w.put(command);
        w.put(script);
        w.put(number);
        for (const std::string& name : keys.names) {
            w.put(key{keys.prefix, name});
        }
        for (std::size_t i = 0; twice && i < keys.names.size(); ++i) {
            w.put(key{keys.prefix, keys.names[i], keys.suffix});
        }
        for (const std::string_view arg : args) {
            w.put(arg);
        }
    });
}

void append_pttl(std::string& out, std::string_view prefix, std::string_view resource)
{
    append(out, raw{"*2\r\n$4\r\nPTTL\r\n"}, key{prefix, resource});
}

void append_ping(std::string& out)
{
    append(out, raw{"*1\r\n$4\r\nPING\r\n"});
}

void append_hello(std::string& out, std::string_view user, std::string_view password,
                  std::string_view client_name)
{
    const bool has_auth = !user.empty() || !password.empty();
    const std::string_view who = user.empty() ? std::string_view("default") : user;
    if (has_auth && !client_name.empty()) {
        append_list(out, hello_auth, 3, {who, password, "SETNAME", client_name});
    } else if (has_auth) {
        append_list(out, hello_auth, 3, {who, password});
    } else if (!client_name.empty()) {
        append_list(out, hello, 2, {"SETNAME", client_name});
    } else {
        append_list(out, hello, 2, {});
    }
}

void append_auth(std::string& out, std::string_view user, std::string_view password)
{
    if (user.empty()) {
        append(out, raw{"*2\r\n$4\r\nAUTH\r\n"}, password);
    } else {
        append(out, raw{"*3\r\n$4\r\nAUTH\r\n"}, user, password);
    }
}

void append_select(std::string& out, std::uint32_t db)
{
    append(out, raw{"*2\r\n$6\r\nSELECT\r\n"}, std::int64_t{db});
}

void append_client_setname(std::string& out, std::string_view name)
{
    append(out, raw{"*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n"}, name);
}

void append_script_load(std::string& out, std::string_view text)
{
    append(out, raw{"*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n"}, text);
}

void append_info(std::string& out, std::string_view section)
{
    append(out, raw{"*2\r\n$4\r\nINFO\r\n"}, section);
}

void append_command_info(std::string& out, std::initializer_list<std::string_view> names)
{
    append_list(out, raw{"$7\r\nCOMMAND\r\n$4\r\nINFO\r\n"}, 2, names);
}

}  // namespace redlock::resp
