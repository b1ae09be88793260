#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace redlock::base {

/// Overwrites the bytes.
inline void wipe(std::span<std::byte> bytes) noexcept
{
    std::ranges::fill(bytes, std::byte{});
    // The program doesn't read those bytes again. Without this statement, the compiler could drop
    // the writes.
    asm volatile("" : : "r"(bytes.data()) : "memory");
}

/// Overwrites the content of the string and leaves it empty. The string keeps its storage.
inline void wipe(std::string& text) noexcept
{
    wipe(std::as_writable_bytes(std::span(text)));
    text.clear();
}

/// A text that leaves no copy in memory. A move copies it, and the destructor of the source wipes
/// the original.
class secret {
public:
    secret() = default;
    secret(const secret&) = default;
    secret& operator=(const secret& other)
    {
        if (this != &other) {
            wipe(text_);
            text_.reserve(other.text_.size());
            text_ = other.text_;
        }
        return *this;
    }
    ~secret() { wipe(text_); }

    [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
    [[nodiscard]] std::string_view view() const noexcept { return text_; }
    /// The buffer to fill. Reserve enough room first: a buffer that grows leaves a copy in memory.
    [[nodiscard]] std::string& buffer() noexcept { return text_; }

private:
    std::string text_;
};

}  // namespace redlock::base
