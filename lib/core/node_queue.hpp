#pragma once

#include "core/coordinator.hpp"
#include "core/node.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace redlock::core {

/// Adds a command to the buffer: the bytes of `same` if they are those, else what `append` adds,
/// for the next node.
template <class Append>
void node::copy_or_append(encoded& same, form sent_as, Append append)
{
    if (!same.bytes.empty() && same.sent_as == sent_as) {
        out_.last().append(same.bytes);
        return;
    }
    const std::size_t before = out_.last().size();
    append();
    same = {std::string_view(out_.last()).substr(before), sent_as};
}

/// Puts a row of commands into the FIFO and their bytes into the buffer: both or, when memory runs
/// out, neither.
template <class Append>
void node::queue(std::span<const command> row, void* subject, form sent_as, Append append)
{
    fifo_.reserve(row.size());
    out_.make_room();
    const std::size_t before = out_.last().size();
    try {
        append();
    } catch (...) {
        out_.last().resize(before);
        throw;
    }
    for (const command what : row) {
        const pending p{subject, c_.now_, what, sent_as};
        fifo_.push(p);
        hold(p);
    }
    if (state_ == state::ready) {
        // Too early for those behind the first, and looked at again then.
        wake_up_ = std::min(wake_up_, c_.now_ + c_.settings_.stall_timeout);
    }
    c_.written_ |= bit(index_);
    c_.stats_.commands += row.size();
}

template <class Append>
void node::queue(command what, void* subject, form sent_as, Append append)
{
    queue(std::span(&what, 1), subject, sent_as, append);
}

}  // namespace redlock::core
