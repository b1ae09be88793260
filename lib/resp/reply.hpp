#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock::resp {

/// The type of a reply or of a part of one.
enum class reply_type : std::uint8_t {
    simple_string,    ///< `+`
    simple_error,     ///< `-`
    integer,          ///< `:`
    bulk_string,      ///< `$`
    array,            ///< `*`
    null,             ///< `_`, and in RESP2 a bulk string or an array of length -1
    boolean,          ///< `#`
    real,             ///< `,`
    big_number,       ///< `(`
    bulk_error,       ///< `!`
    verbatim_string,  ///< `=`
    map,              ///< `%`, its keys and values in turn
    set,              ///< `~`
    push,             ///< `>`, not the reply to a command
};

/// One value of a parsed reply. Its children follow it in order, each followed by its own children.
struct node {
    std::int64_t integer = 0;
    /// The position of the text, counted from the reply's first byte.
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    /// The number of direct children. A map has two for each pair.
    std::uint32_t children = 0;
    /// The distance to the next node on the same level.
    std::uint32_t span = 1;
    reply_type type = reply_type::null;
};

/**
 * A view of a reply or of a part of one. It owns nothing and is cheap to copy. It is valid until
 * its reader parses again or is fed again. A default-constructed reply is a null.
 */
class reply {
public:
    class iterator;

    reply() = default;
    reply(const node* at, const char* base) : at_(at), base_(base) {}

    [[nodiscard]] reply_type type() const { return at_->type; }

    [[nodiscard]] bool is_null() const { return type() == reply_type::null; }
    [[nodiscard]] bool is_integer() const { return type() == reply_type::integer; }
    [[nodiscard]] bool is_push() const { return type() == reply_type::push; }

    [[nodiscard]] bool is_error() const
    {
        return type() == reply_type::simple_error || type() == reply_type::bulk_error;
    }

    [[nodiscard]] bool is_string() const
    {
        return type() == reply_type::simple_string || type() == reply_type::bulk_string ||
               type() == reply_type::verbatim_string;
    }

    [[nodiscard]] bool is_aggregate() const
    {
        return type() == reply_type::array || type() == reply_type::map ||
               type() == reply_type::set || type() == reply_type::push;
    }

    /// The bytes of a string or an error, or of a number as it was sent. A verbatim string is
    /// returned without its format. Empty for all other types.
    [[nodiscard]] std::string_view text() const { return {base_ + at_->offset, at_->length}; }

    /// The value of an integer, or 1 or 0 for a boolean. 0 for all other types.
    [[nodiscard]] std::int64_t integer() const { return at_->integer; }

    /// The number of values in an aggregate. In a map, keys and values count separately.
    [[nodiscard]] std::size_t size() const { return at_->children; }

    /// The i-th value. Finds it by walking over the values before it. A null after the last one.
    [[nodiscard]] reply at(std::size_t i) const;

    /// The value after the string `key` in a map, or in an array of alternating keys and values,
    /// which is how RESP2 writes a map. Returns the first match, or a null.
    [[nodiscard]] reply find(std::string_view key) const;

    [[nodiscard]] iterator begin() const;
    [[nodiscard]] iterator end() const;

private:
    static constexpr node none{};

    const node* at_ = &none;
    const char* base_ = "";
};

/// Iterates over the direct values of an aggregate.
class reply::iterator {
public:
    using value_type = reply;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    iterator(const node* at, const char* base) : at_(at), base_(base) {}

    reply operator*() const { return {at_, base_}; }

    iterator& operator++()
    {
        at_ += at_->span;
        return *this;
    }

    iterator operator++(int)
    {
        const iterator before = *this;
        ++*this;
        return before;
    }

    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

private:
    const node* at_ = nullptr;
    const char* base_ = nullptr;
};

inline reply::iterator reply::begin() const
{
    return {at_ + 1, base_};
}

inline reply::iterator reply::end() const
{
    return {at_ + at_->span, base_};
}

}  // namespace redlock::resp
