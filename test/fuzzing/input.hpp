#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace redlock::test {

/// Ends the program if `rule` does not hold. A fuzzer keeps the input that led here.
inline void require(bool rule, const char* what)
{
    if (!rule) {
        std::fprintf(stderr, "does not hold: %s\n", what);
        std::abort();
    }
}

/// The bytes for a target, read as choices. After their end all are zero.
class input {
public:
    explicit input(std::string_view bytes) : left_(bytes) {}

    [[nodiscard]] bool empty() const { return left_.empty(); }

    std::uint8_t byte()
    {
        if (left_.empty()) {
            return 0;
        }
        const auto b = static_cast<std::uint8_t>(left_.front());
        left_.remove_prefix(1);
        return b;
    }

    /// From 0 to `n` - 1, from one byte.
    unsigned below(std::size_t n)
    {
        return n == 0 ? 0 : byte() % static_cast<unsigned>(std::min<std::size_t>(n, 256));
    }

    bool flag() { return below(2) == 1; }

    std::string_view bytes(std::size_t most)
    {
        const std::string_view head = left_.substr(0, most);
        left_.remove_prefix(head.size());
        return head;
    }

    std::string_view rest() { return bytes(left_.size()); }

private:
    std::string_view left_;
};

/// Runs one input. Each target has its own function.
void run_target(std::string_view bytes);

}  // namespace redlock::test
