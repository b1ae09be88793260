#include "cli/config_file.hpp"

#include "cli/secret_file.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <utility>

namespace redlock::cli {
namespace {

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t\r";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The text without its trailing comment. CLI11 lets a comment begin even between quotes.
std::string_view uncommented(std::string_view text)
{
    return trimmed(text.substr(0, text.find('#')));
}

bool begins_with_quote(std::string_view text)
{
    return !text.empty() && (text.front() == '"' || text.front() == '\'');
}

bool is_closed(std::string_view text)
{
    return !begins_with_quote(text) || (text.size() > 1 && text.front() == text.back());
}

std::string_view unquoted(std::string_view text)
{
    return begins_with_quote(text) && is_closed(text) ? text.substr(1, text.size() - 2) : text;
}

/// Whether the text has the form of an option's or a command's name. Other texts may be misplaced
/// secrets, so messages don't repeat them.
bool is_name(std::string_view text)
{
    constexpr std::size_t longest = 32;
    return text.size() > 1 && text.size() <= longest &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) {
               return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' ||
                      c == '.';
           });
}

/// The name of a flag without its negation: `run.fencing` for `run.no-fencing`. Both set the same
/// option.
std::string without_negation(const std::string& name)
{
    constexpr std::string_view negation = "no-";
    const auto begin = name.rfind('.') + 1;  // 0 if there is no '.'
    return name.compare(begin, negation.size(), negation) == 0
               ? name.substr(0, begin) + name.substr(begin + negation.size())
               : name;
}

[[noreturn]] void refuse(std::size_t line, const std::string& why)
{
    throw CLI::ConfigError("line " + std::to_string(line) + ": " + why);
}

}  // namespace

/// Prepares the lines for CLI11. In particular it joins each list into one line, because CLI11
/// reads no other lists.
class config_file::scan {
public:
    explicit scan(const std::string& text) : text_(text) {}

    void operator()()
    {
        while (next()) {
            if (line_.empty() || line_.front() == '#' || line_.front() == ';') {
                continue;
            }
            plain_ += plain_.empty() ? "" : "\n";
            line_start_ = plain_.size();
            plain_ += line_;
            if (line_.front() == '[') {
                begin_section();
            } else {
                add_option();
            }
        }
    }

    std::vector<entry>& entries() noexcept { return entries_; }
    /// The text without blank lines and comments.
    [[nodiscard]] const std::string& plain() const noexcept { return plain_; }

private:
    bool next()
    {
        if (!std::getline(text_, whole_)) {
            return false;
        }
        ++number_;
        line_ = trimmed(whole_);
        const bool is_text = std::none_of(line_.begin(), line_.end(), [](unsigned char c) {
            return c != '\t' && std::iscntrl(c) != 0;
        });
        if (!is_text) {
            refuse(number_, "has a control character");
        }
        return true;
    }

    void begin_section()
    {
        const auto all = line_;
        if (all.back() != ']') {
            refuse(number_, "a [SECTION] must end with ], and nothing may follow it");
        }
        section_ = unquoted(trimmed(all.substr(1, all.size() - 2)));
        if (!is_name(section_)) {
            refuse(number_, "a [SECTION] must be the name of a command");
        }
        plain_.replace(line_start_, std::string::npos, '[' + section_ + ']');
        if (section_ == "default") {
            section_.clear();
        } else {
            entries_.push_back({section_, number_});
        }
    }

    void add_option()
    {
        const auto sign = line_.find('=');
        const auto name = unquoted(trimmed(line_.substr(0, sign)));
        if (sign == std::string_view::npos) {
            refuse(number_, "is neither NAME = VALUE nor [SECTION]");
        }
        if (!is_name(name)) {
            refuse(number_,
                   "the text before = is not the name of an option, in lower case and "
                   "without dashes; a resource is always an argument");
        }
        const auto value = uncommented(line_.substr(sign + 1));
        if (value.empty() || value == "[]") {
            refuse(number_, std::string(name) + " has no value");
        }
        add(section_ + (section_.empty() ? "" : ".") + std::string(name));
        check_quotes(value);
        if (value.starts_with('[')) {
            end_list(value);
        }
    }

    /// Checks a value, or a line of a list. CLI11 reads some texts otherwise than TOML, and with
    /// another text the command might take another lock.
    void check_quotes(std::string_view value) const
    {
        enum class place { before_text, in_quotes, after_quotes, in_plain_text };
        auto at = place::before_text;
        char quote = '\0';
        for (const char c : value) {
            const bool separates = c == ',' || c == '[' || c == ']';
            if (at == place::in_quotes) {
                if (quote == '"' && c == '\\') {
                    refuse(number_,
                           "a backslash between double quotes; put the text between single quotes");
                }
                at = c == quote ? place::after_quotes : at;
            } else if (separates) {
                at = place::before_text;
            } else if (c == ' ' || c == '\t') {
                continue;
            } else if (at == place::after_quotes) {
                refuse(number_, "text after the closing quote");
            } else if (at == place::before_text && (c == '"' || c == '\'')) {
                at = place::in_quotes;
                quote = c;
            } else {
                at = place::in_plain_text;
            }
        }
        if (at == place::in_quotes) {
            refuse(number_, "a quote is not closed, or has a # after it");
        }
    }

    /// Adds an option. Consecutive lines for the same option form a list. CLI11 would ignore a
    /// later, separate line, so that is refused.
    void add(const std::string& name)
    {
        const auto first = std::ranges::find_if(entries_, [&](const entry& e) {
            return without_negation(e.name) == without_negation(name);
        });
        if (first != entries_.end() && entries_.back().name != name) {
            refuse(number_, (first->name == name ? name : name + ", or " + first->name + ',') +
                                " is in line " + std::to_string(first->line) + " already");
        }
        entries_.push_back({name, number_});
    }

    [[nodiscard]] bool assigns() const
    {
        const auto sign = line_.find('=');
        return sign != std::string_view::npos && is_name(trimmed(line_.substr(0, sign)));
    }

    /// Reads the rest of a list, which may span several lines.
    void end_list(std::string_view begun)
    {
        const std::size_t first = number_;
        plain_.erase(plain_.find('[', plain_.find('=', line_start_)) + begun.size());
        for (bool ended = begun.back() == ']'; !ended; ended = plain_.back() == ']') {
            if (!next() || line_.starts_with('[') || assigns()) {
                refuse(first, "the [ before the values is not closed by a ]");
            }
            const auto more = uncommented(line_);
            check_quotes(more);
            plain_ += more;
        }
    }

    std::istringstream text_;
    std::string whole_;
    std::string_view line_;
    std::size_t number_ = 0;
    std::string section_;
    std::string plain_;
    /// Position of the current line in `plain_`.
    std::size_t line_start_ = 0;
    std::vector<entry> entries_;
};

std::vector<CLI::ConfigItem> config_file::from_config(std::istream& input) const
{
    std::string text(std::istreambuf_iterator<char>(input), {});
    trim_line(text);
    scan read(text);
    read();
    entries_ = std::move(read.entries());
    std::istringstream plain(read.plain());
    items_ = ConfigBase::from_config(plain);
    return items_;
}

std::optional<std::size_t> config_file::line_of(std::string_view name) const
{
    const auto found = std::ranges::find(entries_, name, &entry::name);
    return found == entries_.end() ? std::nullopt : std::optional(found->line);
}

}  // namespace redlock::cli
