#pragma once

#include "resp/reader.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// All visible properties of a reply, as text.
std::string describe(const resp::reply& r);

/// The result of reading a stream of bytes.
struct readings {
    std::vector<std::string> replies;
    resp::read_status end = resp::read_status::more;
    resp::parse_error error = resp::parse_error::none;

    friend bool operator==(const readings&, const readings&) = default;
};

/// Feeds `pieces` one after the other. Each is in its own memory, which is overwritten as soon as
/// possible.
readings read_pieces(const std::vector<std::string_view>& pieces,
                     resp::protocol p = resp::protocol::undecided, const resp::limits& l = {});

/// The same with all of `bytes` at once.
readings read_whole(std::string_view bytes, resp::protocol p = resp::protocol::undecided,
                    const resp::limits& l = {});

/// `bytes` in pieces of `size`, the last one shorter.
std::vector<std::string_view> cut_every(std::string_view bytes, std::size_t size);

}  // namespace redlock::test
