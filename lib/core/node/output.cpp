#include "core/node/output.hpp"

#include "base/wipe.hpp"

#include <cassert>

namespace redlock::core {

std::string output_blocks::take()
{
    std::string block;
    if (free_.empty()) {
        block.reserve(block_size);
    } else {
        block = std::move(free_.back());
        free_.pop_back();
    }
    return block;
}

void output_blocks::give(std::string&& used) noexcept
{
    assert(used.empty());
    const bool is_block = used.capacity() >= block_size && used.capacity() < 2 * block_size;
    if (is_block && free_.size() < free_.capacity()) {
        free_.push_back(std::move(used));
    }
}

void output::begin_block()
{
    full_.reserve(1);
    std::string block = blocks_.take();
    last_.swap(block);
    if (block.empty()) {
        blocks_.give(std::move(block));
    } else {
        waiting_ += block.size();
        full_.push(std::move(block));
    }
}

std::string& output::take() noexcept
{
    while (!full_.empty() && full_.front().empty()) {
        blocks_.give(full_.pop());
    }
    if (full_.empty()) {
        being_written_ = last_.size();
        return last_;
    }
    being_written_ = full_.front().size();
    waiting_ -= being_written_;
    return full_.front();
}

void output::wipe() noexcept
{
    while (!full_.empty()) {
        std::string block = full_.pop();
        base::wipe(block);
        blocks_.give(std::move(block));
    }
    base::wipe(last_);
    blocks_.give(std::exchange(last_, {}));
    waiting_ = being_written_ = 0;
}

}  // namespace redlock::core
