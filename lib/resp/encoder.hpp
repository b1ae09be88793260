#pragma once

#include "resp/scripts.hpp"

#include <cassert>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

/**
 * Encodes commands and appends them to an output buffer.
 *
 * A command is always an array of bulk strings with their lengths in front. No argument is escaped,
 * quoted or parsed, so an argument may contain any bytes.
 */
namespace redlock::resp {

/// A key in one word: `prefix`, the name of a resource, `suffix`.
struct key {
    std::string_view prefix;
    std::string_view resource;
    std::string_view suffix{};

    [[nodiscard]] constexpr std::size_t size() const
    {
        return prefix.size() + resource.size() + suffix.size();
    }
};

/// The keys of a script: their number, then `prefix` followed by each name. If there is a `suffix`,
/// the same keys follow again with the suffix.
struct script_keys {
    std::string_view prefix;
    std::span<const std::string> names;
    std::string_view suffix{};

    [[nodiscard]] constexpr std::size_t count() const
    {
        return names.size() * (suffix.empty() ? 1 : 2);
    }
};

/// A script as its call begins: EVALSHA and the digest, or EVAL and the text.
struct script_call {
    const script& what;
    bool by_digest;
};

/// Several words.
using word_list = std::span<const std::string_view>;

namespace detail {

/// Room for "*" or "$", a 64-bit number with its sign, and a line end.
inline constexpr std::size_t max_header = 24;

/// Makes one type of all texts.
template <class Word>
constexpr auto as_word(const Word& word)
{
    if constexpr (std::convertible_to<const Word&, std::string_view>) {
        return std::string_view(word);
    } else {
        return word;
    }
}
/// A literal has a known length, so nothing searches for its end.
template <std::size_t Size>
constexpr std::string_view as_word(const char (&literal)[Size])
{
    return {literal, Size - 1};
}

// The number of words that an argument of `append` becomes.

constexpr std::size_t count_of(std::string_view)
{
    return 1;
}
constexpr std::size_t count_of(std::int64_t)
{
    return 1;
}
constexpr std::size_t count_of(key)
{
    return 1;
}
constexpr std::size_t count_of(script_call)
{
    return 2;
}
constexpr std::size_t count_of(script_keys keys)
{
    return 1 + keys.count();
}
constexpr std::size_t count_of(word_list words)
{
    return words.size();
}

// At least the number of bytes that an argument of `append` becomes.

constexpr std::size_t bound_of(std::string_view word)
{
    return max_header + word.size() + 2;
}
constexpr std::size_t bound_of(std::int64_t)
{
    return 2 * max_header;
}
constexpr std::size_t bound_of(key k)
{
    return max_header + k.size() + 2;
}
constexpr std::size_t bound_of(script_call s)
{
    return 2 * max_header + (s.by_digest ? s.what.sha1 : s.what.text).size() + 2;
}
constexpr std::size_t bound_of(script_keys keys)
{
    std::size_t size = 2 * max_header;
    for (const std::string& name : keys.names) {
        size += bound_of(key{keys.prefix, name});
        size += keys.suffix.empty() ? 0 : bound_of(key{keys.prefix, name, keys.suffix});
    }
    return size;
}
constexpr std::size_t bound_of(word_list words)
{
    std::size_t size = 0;
    for (const std::string_view word : words) {
        size += bound_of(word);
    }
    return size;
}

/// Writes into room that was reserved before. The functions for single words are always inlined.
/// This halves the time of a command, because the sizes of literal words become constants.
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

    [[gnu::always_inline]] void put(std::string_view word)
    {
        header('$', word.size());
        copy(word);
        line_end();
    }

    [[gnu::always_inline]] void put(std::int64_t number)
    {
        char digits[max_header];
        const char* const end = std::to_chars(digits, digits + max_header, number).ptr;
        put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
    }

    [[gnu::always_inline]] void put(key k)
    {
        header('$', k.size());
        copy(k.prefix);
        copy(k.resource);
        copy(k.suffix);
        line_end();
    }

    [[gnu::always_inline]] void put(script_call s)
    {
        if (s.by_digest) {
            put("EVALSHA");
            put(s.what.sha1);
        } else {
            put("EVAL");
            put(s.what.text);
        }
    }

    void put(script_keys keys)
    {
        put(static_cast<std::int64_t>(keys.count()));
        for (const std::string& name : keys.names) {
            put(key{keys.prefix, name});
        }
        if (!keys.suffix.empty()) {
            for (const std::string& name : keys.names) {
                put(key{keys.prefix, name, keys.suffix});
            }
        }
    }

    void put(word_list words)
    {
        for (const std::string_view word : words) {
            put(word);
        }
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

}  // namespace detail

/// Appends a command. Its words are texts, numbers (`std::int64_t`), `key`, `script_call`,
/// `script_keys` and `word_list`. Grows the buffer at most once. No argument may lie in the buffer.
template <class... Words>
void append(std::string& out, const Words&... words)
{
    const std::size_t before = out.size();
    out.resize(before + detail::max_header + (detail::bound_of(detail::as_word(words)) + ... + 0));
    detail::writer w(out.data() + before);
    w.header('*', (detail::count_of(detail::as_word(words)) + ... + 0));
    (w.put(detail::as_word(words)), ...);
    const auto size = static_cast<std::size_t>(w.at() - out.data());
    assert(size <= out.size());
    out.resize(size);
}

/// Appends a part of a command. The caller has appended `append_size` before.
template <class... Words>
void append_part(std::string& out, const Words&... words)
{
    const std::size_t before = out.size();
    out.resize(before + (detail::bound_of(detail::as_word(words)) + ... + 0));
    detail::writer w(out.data() + before);
    (w.put(detail::as_word(words)), ...);
    out.resize(static_cast<std::size_t>(w.at() - out.data()));
}

/// Appends the number of words of a command.
inline void append_size(std::string& out, std::size_t words)
{
    const std::size_t before = out.size();
    out.resize(before + detail::max_header);
    detail::writer w(out.data() + before);
    w.header('*', words);
    out.resize(static_cast<std::size_t>(w.at() - out.data()));
}

/// HELLO 3 [AUTH user password] [SETNAME name]. Contains AUTH if there is a user or a password; an
/// empty user becomes "default". Contains SETNAME if there is a name.
void append_hello(std::string& out, std::string_view user, std::string_view password,
                  std::string_view client_name);

}  // namespace redlock::resp
