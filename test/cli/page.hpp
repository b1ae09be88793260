#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// The text of a page, for example "guides/deploy.md".
[[nodiscard]] std::string text_of_page(const std::string& page);

/// The cells of the rows of a page's tables whose first cell has this text.
[[nodiscard]] std::vector<std::vector<std::string>> rows_of_page(const std::string& page,
                                                                 std::string_view first_cell);

}  // namespace redlock::test
