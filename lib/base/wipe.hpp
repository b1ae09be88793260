#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace redlock::base {

/// Overwrites these bytes.
inline void wipe(std::span<std::byte> bytes) noexcept
{
    std::ranges::fill(bytes, std::byte{});
    // Nobody reads those bytes again, and the compiler may not know it.
    asm volatile("" : : "r"(bytes.data()) : "memory");
}

/// Overwrites what the string holds and leaves it empty, its storage kept.
inline void wipe(std::string& text) noexcept
{
    wipe(std::as_writable_bytes(std::span(text)));
    text.clear();
}

/// A text of which no copy is left behind where this one was. Moved, it is copied: the source is
/// wiped when it ends.
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
    /// To be filled. Who makes it grow leaves a copy behind: make room first.
    [[nodiscard]] std::string& buffer() noexcept { return text_; }

private:
    std::string text_;
};

}  // namespace redlock::base
