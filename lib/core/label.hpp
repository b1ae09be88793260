#pragma once

#include <redlock/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::core {

struct lease;

/// A stored label begins with the first characters of the owner token and a space. They tie it to
/// its lock: a release deletes no later holder's label, and an inspection shows no earlier one's.
inline constexpr std::size_t label_tie_size = 9;
inline constexpr std::size_t max_stored_label_size = label_tie_size + max_label_size;

/// The first characters of the stored label of a lock with that owner token.
[[nodiscard]] inline std::string label_tie(std::string_view owner)
{
    return std::string(owner.substr(0, label_tie_size - 1)).append(" ");
}

/// The stored label without its tie; empty: the value is no label of this library.
[[nodiscard]] inline std::string_view untied(std::string_view stored) noexcept
{
    constexpr std::string_view digits = "0123456789abcdef";
    const bool fits = stored.size() > label_tie_size &&
                      stored.find_first_not_of(digits) == label_tie_size - 1 &&
                      stored[label_tie_size - 1] == ' ';
    return fits ? stored.substr(label_tie_size) : std::string_view();
}

/// Keeps the label that a node has stored for an adopted lease.
void adopt_label(lease& l, std::string_view stored) noexcept;

}  // namespace redlock::core
