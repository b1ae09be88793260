#pragma once

#include "resp/reply.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::resp {

/// The protocol of the replies.
enum class protocol : std::uint8_t {
    undecided,  ///< the reply to HELLO is pending, so any type is valid
    resp2,      ///< only the five types of RESP2
    resp3,      ///< every type, including RESP2's nulls, which scripts still return
};

/// Why the bytes are no valid sequence of replies.
enum class parse_error : std::uint8_t {
    none,
    unknown_type,       ///< a value that starts with an unknown mark
    wrong_protocol,     ///< a type of RESP3 on a connection that speaks RESP2
    streamed,           ///< a string or an aggregate without a length in front
    bad_line,           ///< a carriage return or a line feed alone
    bad_integer,        ///< not a 64-bit integer in its shortest form
    bad_length,         ///< not a length in its shortest form, or a length that isn't allowed there
    bad_value,          ///< an invalid null, boolean, number or verbatim string
    bad_terminator,     ///< a bulk string without a line end after it
    misplaced_push,     ///< a push inside a reply
    line_too_long,      ///< beyond `limits::max_line`
    bulk_too_long,      ///< beyond `limits::max_bulk`
    too_many_elements,  ///< beyond `limits::max_elements`
    too_deep,           ///< beyond `limits::max_depth`
    reply_too_long,     ///< beyond `limits::max_reply`
};

/// A description in plain English, for messages and logs.
[[nodiscard]] const char* to_string(parse_error e) noexcept;

/// The limits for replies. The reader checks announced sizes before the bytes arrive and before it
/// allocates memory for them.
struct limits {
    /// Bytes in a line, including its end. Servers repeat arguments and script errors in lines.
    std::uint32_t max_line = 64 * 1024;
    /// Bytes in a bulk string. The replies to a lock's commands have tens of bytes, INFO has
    /// thousands.
    std::uint32_t max_bulk = 1024 * 1024;
    /// Values in one reply on all levels, including its attributes. COMMAND INFO has hundreds.
    std::uint32_t max_elements = 4096;
    /// Nested aggregates, at most `depth_capacity`. COMMAND INFO has six levels.
    std::uint32_t max_depth = 8;
    /// Bytes in one reply including its attributes.
    std::uint32_t max_reply = 2 * 1024 * 1024;

    static constexpr std::uint32_t depth_capacity = 16;
};

/// The result of `reader::next`.
enum class read_status : std::uint8_t {
    ready,  ///< a reply or a push
    more,   ///< nothing until you feed more bytes
    error,  ///< not RESP; no later byte of this connection is reliable
};

/**
 * Splits a stream of bytes into replies as the bytes arrive.
 *
 * A reply that lies completely in one chunk is parsed in place. The reader keeps the bytes of an
 * incomplete reply and continues where it stopped. So the work is linear in the number of bytes,
 * however they are split. Attributes are checked and dropped. The reader allocates nothing once its
 * storage has grown to the usual size of replies.
 *
 * Usage: call feed() with a chunk, then next() while it returns `ready`.
 */
class reader {
public:
    explicit reader(const limits& l = {});

    // Replies point into the reader, so it can't be copied.
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    /// Passes the next bytes. Call it only if `next` returned `more` or was never called. The bytes
    /// must stay valid until `next` returns `more` again.
    void feed(std::string_view bytes);

    /// Finds the next reply. The reply is valid until the next call of next(), feed() or reset(),
    /// and only while the chunk is.
    [[nodiscard]] read_status next(reply& out);

    /// Why next() returned `error`. It continues to return `error` until reset().
    [[nodiscard]] parse_error error() const { return error_; }

    /// Sets the protocol, starting with the next reply.
    void set_protocol(protocol p) { protocol_ = p; }

    /// Whether a reply has arrived only in part.
    [[nodiscard]] bool in_reply() const { return carried_ || !chunk_.empty(); }

    /// Prepares for a new connection: forgets all bytes, errors, and the protocol.
    void reset();

private:
    struct frame {
        std::uint32_t at;         ///< index of the aggregate's node
        std::uint32_t remaining;  ///< values still to come
        bool attribute;           ///< whether its nodes are dropped at the end
    };

    enum class step : std::uint8_t { go_on, complete, more, error };

    static constexpr int digits_at_a_glance = std::numeric_limits<std::int64_t>::digits10;

    bool next_at_a_glance(reply& out);
    bool integer_at_a_glance(reply& out);
    void scalar(reply_type type, std::size_t offset, std::size_t length, std::int64_t integer,
                std::size_t bytes, reply& out);

    step parse();
    step parse_line();
    step parse_payload();
    step parse_header(char mark, std::string_view rest);
    step open_bulk(reply_type type, std::string_view rest);
    step open_aggregate(char mark, std::string_view rest);

    step take_line(std::string_view& line);
    step take_payload(std::string_view& payload);
    step lacking_line(std::size_t room);
    [[nodiscard]] parse_error check_mark(char mark) const;

    step add_scalar(reply_type type, std::string_view text, std::int64_t integer = 0);
    step add_aggregate(char mark, std::uint32_t children);
    step value_done();
    step fail(parse_error e);

    [[nodiscard]] const char* base() const { return carried_ ? carry_.data() : chunk_.data(); }
    [[nodiscard]] std::size_t held() const { return carried_ ? carry_.size() : chunk_.size(); }
    void finish(reply& out);
    void stash();

    limits limits_;
    protocol protocol_ = protocol::undecided;
    parse_error error_ = parse_error::none;
    /// Whether the current reply is in `carry_`. Otherwise it starts at the start of `chunk_`.
    bool carried_ = false;
    /// Whether the next bytes are those in a bulk string. Otherwise they are a line.
    bool in_payload_ = false;
    reply_type payload_type_ = reply_type::null;
    std::uint32_t payload_ = 0;

    /// The unparsed bytes. If the current reply isn't in `carry_`, its bytes come first.
    std::string_view chunk_;
    std::string carry_;
    /// The number of parsed bytes in the current reply.
    std::size_t used_ = 0;
    /// The number of values that the current reply has announced.
    std::uint32_t announced_ = 0;

    std::uint32_t depth_ = 0;
    std::array<frame, limits::depth_capacity> frames_{};
    std::vector<node> nodes_;
    /// The node of a reply that `next_at_a_glance` recognised.
    node single_;
};

}  // namespace redlock::resp
