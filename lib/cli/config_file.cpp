#include "cli/config_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include <toml++/toml.h>

namespace redlock::cli {
namespace {

/// CLI11's name for the begin of a section. By it CLI11 finds an unknown section without options.
constexpr const char* section_begin = "++";

constexpr const char* bad_name =
    "the text before = is not the name of an option, in lower case and without dashes; a resource "
    "is always an argument";
constexpr const char* bad_section =
    "a [SECTION] must be the name of a command, and nothing but a # comment may follow it";

[[noreturn]] void refuse(std::size_t line, const std::string& why)
{
    throw CLI::ConfigError("line " + std::to_string(line) + ": " + why);
}

/// Whether the text has the form of an option's or a command's name. Other texts may be misplaced
/// secrets, so messages don't repeat them.
bool is_name(std::string_view text)
{
    constexpr std::size_t longest = 32;
    return text.size() > 1 && text.size() <= longest &&
           std::ranges::all_of(text, [](unsigned char c) {
               return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' ||
                      c == '.';
           });
}

bool has_control_character(std::string_view text)
{
    return std::ranges::any_of(text,
                               [](unsigned char c) { return c != '\t' && std::iscntrl(c) != 0; });
}

std::string text_of(const toml::node& value, const std::string& name)
{
    const std::size_t line = value.source().begin.line;
    if (const auto* const text = value.as_string()) {
        if (has_control_character(text->get())) {
            refuse(line, name + " has a control character");
        }
        return text->get();
    }
    if (const auto* const flag = value.as_boolean()) {
        return flag->get() ? "true" : "false";
    }
    if (const auto* const whole = value.as_integer()) {
        return std::to_string(whole->get());
    }
    if (const auto* const number = value.as_floating_point()) {
        std::array<char, 32> digits{};
        return {digits.data(),
                std::to_chars(digits.data(), digits.data() + digits.size(), number->get()).ptr};
    }
    refuse(line, name +
                     " must be a text between quotes, a number, true, false, or a list of them "
                     "in [ and ]");
}

std::vector<std::string> values_of(const toml::node& value, const std::string& name)
{
    const auto* const list = value.as_array();
    if (list == nullptr) {
        return {text_of(value, name)};
    }
    if (list->empty()) {
        refuse(value.source().begin.line, name + " has no value");
    }
    std::vector<std::string> out;
    for (const auto& one : *list) {
        out.push_back(text_of(one, name));
    }
    return out;
}

void add(std::vector<config_entry>& out, const toml::table& from,
         const std::vector<std::string>& parents)
{
    for (const auto& [key, value] : from) {
        const std::size_t line = key.source().begin.line;
        const std::string name(key.str());
        const auto* const section = value.as_table();
        if (!is_name(name)) {
            refuse(line, section == nullptr ? bad_name : bad_section);
        }
        if (section == nullptr) {
            out.push_back({{parents, name, values_of(value, name)}, line});
        } else if (parents.empty() && name == "default") {
            add(out, *section, parents);
        } else {
            auto within = parents;
            within.push_back(name);
            out.push_back({{within, section_begin, {}}, line});
            add(out, *section, within);
        }
    }
}

/// The name of a flag without its negation: `run.fencing` for `run.no-fencing`. Both set the same
/// option.
std::string without_negation(const CLI::ConfigItem& item)
{
    constexpr std::string_view negation = "no-";
    auto plain = item;
    plain.name.erase(0, item.name.starts_with(negation) ? negation.size() : 0);
    return plain.fullname();
}

/// Refuses an option that two lines set. TOML allows that if one of the lines is in `[default]`, or
/// has the negated name.
void check_once(const std::vector<config_entry>& entries)
{
    for (auto second = entries.begin(); second != entries.end(); ++second) {
        const auto first = std::find_if(entries.begin(), second, [&](const config_entry& e) {
            return without_negation(e.item) == without_negation(second->item);
        });
        if (first != second) {
            std::string why = second->item.fullname();
            if (const std::string other = first->item.fullname(); other != why) {
                why.append(", or ").append(other).append(",");
            }
            why.append(" is in line ").append(std::to_string(first->line)).append(" already");
            refuse(second->line, why);
        }
    }
}

std::string_view trimmed(std::string_view text, std::string_view blanks)
{
    const auto first = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Why the parser refuses a line, and how to mend it. The parser's own text is not for the user,
/// because it repeats parts of values, which may be secrets.
std::string why_refused(std::string_view line, std::string_view parser_text)
{
    const auto sign = line.find('=');
    const bool is_section = line.starts_with('[');
    const std::string name(is_section || sign == line.npos
                               ? trimmed(line, "[ ]")
                               : trimmed(line.substr(0, sign), " \t\"'"));
    if (line.starts_with(';')) {
        return "a comment begins with #, not with ;";
    }
    if (has_control_character(line)) {
        return "has a control character";
    }
    if (!is_section && sign == line.npos) {
        return "is neither NAME = VALUE nor [SECTION]; a list needs quotes around each text, "
               "commas between its values and a ] at its end";
    }
    if (!is_name(name)) {
        return is_section ? bad_section : bad_name;
    }
    if (parser_text.find("redefine") != parser_text.npos) {
        return name + " is in a line above already" +
               (is_section ? "" : "; several values are a list: " + name + " = [\"A\", \"B\"]");
    }
    if (is_section) {
        return '[' + name + "] is not complete, or a list or a text above it is not closed";
    }
    return trimmed(line.substr(sign + 1), " \t").empty()
               ? name + " has no value"
               : "the value of " + name +
                     " is not TOML: each text, duration and URL needs quotes, a list commas and a "
                     "], and a backslash single quotes";
}

std::vector<config_entry> parsed(const std::string& text)
{
    std::vector<config_entry> out;
    try {
        add(out, toml::parse(text), {});
    } catch (const toml::parse_error& e) {
        std::istringstream lines(text);
        std::string last;
        std::size_t number = 0;
        std::string line;
        for (std::size_t at = 1; at <= e.source().begin.line && std::getline(lines, line); ++at) {
            // The parser finds the end of the file after blank lines.
            if (const auto content = trimmed(line, " \t\r"); !content.empty()) {
                last = content;
                number = at;
            }
        }
        refuse(number, why_refused(last, e.description()));
    }
    // A section comes before its options: `+` comes before all letters.
    std::ranges::sort(out, {},
                      [](const config_entry& e) { return std::pair(e.line, e.item.fullname()); });
    return out;
}

}  // namespace

std::vector<CLI::ConfigItem> config_file::from_config(std::istream& input) const
{
    entries_ = parsed({std::istreambuf_iterator<char>(input), {}});
    check_once(entries_);
    std::vector<CLI::ConfigItem> out;
    std::ranges::transform(entries_, std::back_inserter(out), &config_entry::item);
    return out;
}

std::optional<std::size_t> config_file::line_of(std::string_view name) const
{
    const auto found = std::ranges::find_if(entries_, [&](const config_entry& e) {
        const std::string full = e.item.fullname();
        return full == name || full == std::string(name) + '.' + section_begin;
    });
    return found == entries_.end() ? std::nullopt : std::optional(found->line);
}

}  // namespace redlock::cli
