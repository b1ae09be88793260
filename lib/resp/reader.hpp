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

/// Which of the protocols the replies are written in.
enum class protocol : std::uint8_t {
    undecided,  ///< the answer to HELLO has not come: anything goes
    resp2,      ///< only the five types of RESP2
    resp3,      ///< every type, RESP2's nulls too, which scripts still answer with
};

/// Why a stream of bytes is not a stream of replies.
enum class parse_error : std::uint8_t {
    none,
    unknown_type,       ///< a value that starts with no known mark
    wrong_protocol,     ///< a type of RESP3 on a connection that speaks RESP2
    streamed,           ///< a string or an aggregate whose length is not told beforehand
    bad_line,           ///< a carriage return or a line feed alone
    bad_integer,        ///< not a 64-bit integer in its shortest form
    bad_length,         ///< the same for a length, or a length that is not allowed there
    bad_value,          ///< a null, a boolean, a number or a verbatim string that is not one
    bad_terminator,     ///< a bulk string that is not followed by a line end
    misplaced_push,     ///< a push inside of a reply
    line_too_long,      ///< beyond `limits::max_line`
    bulk_too_long,      ///< beyond `limits::max_bulk`
    too_many_elements,  ///< beyond `limits::max_elements`
    too_deep,           ///< beyond `limits::max_depth`
    reply_too_long,     ///< beyond `limits::max_reply`
};

/// In plain English, for messages and logs.
[[nodiscard]] const char* to_string(parse_error e) noexcept;

/// What a node may send. Checked on what is announced, before it comes and before room is made for
/// it.
struct limits {
    /// Bytes in a line, its end counted. Servers echo arguments and script errors in lines.
    std::uint32_t max_line = 64 * 1024;
    /// Bytes in a bulk string. A lock's own replies have some tens, INFO some thousands.
    std::uint32_t max_bulk = 1024 * 1024;
    /// Values in one reply on all levels, those of its attributes too. COMMAND INFO gives some
    /// hundreds.
    std::uint32_t max_elements = 4096;
    /// Aggregates within each other, at most `depth_capacity`. COMMAND INFO has six.
    std::uint32_t max_depth = 8;
    /// Bytes in one reply with its attributes.
    std::uint32_t max_reply = 2 * 1024 * 1024;

    static constexpr std::uint32_t depth_capacity = 16;
};

/// What `reader::next` has found.
enum class read_status : std::uint8_t {
    ready,  ///< a reply or a push
    more,   ///< nothing until more bytes are fed
    error,  ///< not RESP; no byte of this connection can be believed any more
};

/**
 * Cuts a stream of bytes into replies, as they come.
 *
 * A reply that lies wholly in one fed chunk is parsed where it lies. Of one that does not, the
 * bytes are kept and parsing goes on where it stopped, so that the work is linear in the bytes
 * however they are cut. Attributes are checked and dropped. Once the storage has grown to what the
 * usual replies need, nothing is allocated.
 *
 * Loop: feed() a chunk, then next() until it does not say `ready`.
 */
class reader {
public:
    explicit reader(const limits& l = {});

    // Replies point into the reader.
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    /// Gives the next bytes, only when `next` has said `more` or was never called. They must stay
    /// where they are until it says so again.
    void feed(std::string_view bytes);

    /// Finds the next reply. It lives until the next call of next(), feed() or reset(), as long as
    /// the chunk lives.
    [[nodiscard]] read_status next(reply& out);

    /// Why next() has said `error`. It goes on to say so until reset().
    [[nodiscard]] parse_error error() const { return error_; }

    /// From the next reply on.
    void set_protocol(protocol p) { protocol_ = p; }

    /// Whether part of a reply has come and the rest has not.
    [[nodiscard]] bool in_reply() const { return carried_ || !chunk_.empty(); }

    /// For a new connection: forgets all bytes and errors, and the protocol.
    void reset();

private:
    struct frame {
        std::uint32_t at;         ///< index of the aggregate's node
        std::uint32_t remaining;  ///< values still to come
        bool attribute;           ///< its nodes are dropped at the end
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
    /// Whether the reply under way stands in `carry_`; else it stands at the start of `chunk_`.
    bool carried_ = false;
    /// Whether a bulk's bytes come next, else a line.
    bool in_payload_ = false;
    reply_type payload_type_ = reply_type::null;
    std::uint32_t payload_ = 0;

    /// Bytes not looked at yet, behind those of the reply under way if that is not carried.
    std::string_view chunk_;
    std::string carry_;
    /// Bytes of the reply under way that are parsed.
    std::size_t used_ = 0;
    /// Values announced in the reply under way.
    std::uint32_t announced_ = 0;

    std::uint32_t depth_ = 0;
    std::array<frame, limits::depth_capacity> frames_{};
    std::vector<node> nodes_;
    /// Of a reply that was told at a glance.
    node single_;
};

}  // namespace redlock::resp
