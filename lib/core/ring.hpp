#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::core {

/// A FIFO that grows by doubling and never shrinks while in use: no allocation in the steady state.
template <class T>
class ring {
public:
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] T& front() noexcept
    {
        assert(size_ > 0);
        return slots_[head_];
    }
    [[nodiscard]] const T& front() const noexcept
    {
        assert(size_ > 0);
        return slots_[head_];
    }

    void push(T value)
    {
        if (size_ == slots_.size()) {
            grow();
        }
        slots_[(head_ + size_) & (slots_.size() - 1)] = std::move(value);
        ++size_;
    }

    T pop() noexcept
    {
        assert(size_ > 0);
        T value = std::move(slots_[head_]);
        head_ = (head_ + 1) & (slots_.size() - 1);
        --size_;
        return value;
    }

    /// Makes room for `more` elements, so that `push` cannot throw for them.
    void reserve(std::size_t more)
    {
        while (slots_.size() - size_ < more) {
            grow();
        }
    }

private:
    void grow()
    {
        std::vector<T> larger(slots_.empty() ? 16 : slots_.size() * 2);
        for (std::size_t i = 0; i < size_; ++i) {
            larger[i] = std::move(slots_[(head_ + i) & (slots_.size() - 1)]);
        }
        slots_.swap(larger);
        head_ = 0;
    }

    std::vector<T> slots_;  // a power of two, so that the index wraps by a mask
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace redlock::core
