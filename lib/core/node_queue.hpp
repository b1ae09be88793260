#pragma once

#include "core/coordinator.hpp"
#include "core/node.hpp"

namespace redlock::core {

/// Puts a command into the FIFO and its bytes into the buffer: both or, when memory runs out,
/// neither.
template <class Append>
void node::queue(command what, void* subject, form sent_as, Append append)
{
    fifo_.reserve_one();
    append();
    const pending p{subject, c_.now_, what, sent_as};
    fifo_.push(p);
    hold(p);
    c_.written_ |= bit(index_);
    ++c_.stats_.commands;
}

}  // namespace redlock::core
