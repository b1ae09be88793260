#include "cli/page.hpp"

#include "cli/command.hpp"

#include <sstream>

namespace redlock::test {
namespace {

/// The cells of a line "| a | b |". Empty for any other line.
std::vector<std::string> cells_of(const std::string& line)
{
    constexpr std::string_view border = " | ";
    std::vector<std::string> cells;
    if (!line.starts_with("| ") || !line.ends_with(" |")) {
        return cells;
    }
    // The last border of the line then looks like all others.
    const std::string row = line.substr(2) + ' ';
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = row.find(border, begin)) != row.npos;) {
        cells.push_back(row.substr(begin, end - begin));
        begin = end + border.size();
    }
    return cells;
}

}  // namespace

std::string text_of_page(const std::string& page)
{
    return text_of(std::filesystem::path(PAGES) / page);
}

std::vector<std::vector<std::string>> rows_of_page(const std::string& page,
                                                   std::string_view first_cell)
{
    std::istringstream lines(text_of_page(page));
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(lines, line);) {
        auto cells = cells_of(line);
        if (!cells.empty() && cells.front() == first_cell) {
            rows.push_back(std::move(cells));
        }
    }
    return rows;
}

}  // namespace redlock::test
