#include "resp/error_text.hpp"

#include "base/text.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
#include <array>

namespace redlock::resp {
namespace {

/// The texts after which servers repeat the arguments of a command.
constexpr std::array<std::string_view, 4> echo_marks{
    "with args", "args:", " or subcommand script: ", "command script: "};

/// An owner token has 40 hexadecimal digits. A shorter run may be a token that a server cut off.
constexpr std::size_t suspicious_digits = 16;

constexpr std::string_view left_out = "[...]";

bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::string_view without_echo(std::string_view text)
{
    for (const std::string_view mark : echo_marks) {
        text = text.substr(0, text.find(mark));
    }
    const std::size_t last = text.find_last_not_of(" ,;:(");
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string without_password(std::string_view text, std::string_view password)
{
    std::string out;
    if (password.size() >= shortest_password_left_out) {
        for (std::size_t at; (at = text.find(password)) != std::string_view::npos;) {
            out.append(text.substr(0, at)).append(left_out);
            text.remove_prefix(at + password.size());
        }
    }
    return out.append(text);
}

/// Replaces possible owner tokens. Stops soon after the longest text that can be shown, because a
/// server may send a lot. The last character stays whole.
std::string without_tokens(std::string_view text)
{
    constexpr std::size_t longest_character = 4;
    std::string out;
    while (!text.empty() && out.size() < max_error_text + longest_character) {
        const auto* const digits_end = std::find_if_not(text.begin(), text.end(), is_hex);
        const auto digits = static_cast<std::size_t>(digits_end - text.begin());
        if (digits >= suspicious_digits) {
            out += left_out;
            text.remove_prefix(digits);
        } else {
            const std::size_t taken = std::min(digits + 1, text.size());
            out += text.substr(0, taken);
            text.remove_prefix(taken);
        }
    }
    return out;
}

/// Cuts valid UTF-8 between two characters, and shows that it did.
void cut(std::string& text)
{
    constexpr std::string_view goes_on = "...";
    if (text.size() <= max_error_text) {
        return;
    }
    std::size_t end = max_error_text - goes_on.size();
    while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    text.resize(end);
    text += goes_on;
}

/// The meaning of a code, in words that go on from the server's name.
struct meaning {
    std::string_view code;
    std::string_view text;
};

constexpr meaning loading{"LOADING", "loads its data (LOADING)"};
constexpr meaning busy{"BUSY", "runs a script for too long (BUSY)"};
constexpr meaning try_again{"TRYAGAIN", "is a node of a cluster, and moves its keys (TRYAGAIN)"};
constexpr meaning master_down{"MASTERDOWN", "is a replica, and its master is down (MASTERDOWN)"};
constexpr meaning cluster_down{"CLUSTERDOWN", "is a node of a cluster that is down (CLUSTERDOWN)"};
constexpr meaning read_only{"READONLY", "has become a replica (READONLY)"};
constexpr meaning moved{"MOVED", "is a node of a cluster, and has moved its keys (MOVED)"};
constexpr meaning asking{"ASK", "is a node of a cluster, and moves its keys (ASK)"};
constexpr meaning no_replicas{"NOREPLICAS",
                              "lacks the replicas that it requires for writes (NOREPLICAS)"};
constexpr meaning no_login{"NOAUTH", "no longer knows the login of this client (NOAUTH)"};

/// The text of the first code that the error has.
template <std::size_t Size>
std::string_view text_of(std::string_view error, const std::array<meaning, Size>& meanings)
{
    const auto found = std::find_if(meanings.begin(), meanings.end(),
                                    [&](const meaning& m) { return has_code(error, m.code); });
    return found == meanings.end() ? std::string_view() : found->text;
}

}  // namespace

std::string_view error_code_word(std::string_view text)
{
    constexpr std::size_t shortest_code = 3;
    const std::string_view word = text.substr(0, text.find(' '));
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    const bool is_code =
        word.size() >= shortest_code && std::all_of(word.begin(), word.end(), is_capital);
    return is_code ? word : std::string_view();
}

bool has_code(std::string_view error, std::string_view code)
{
    constexpr std::string_view general = "ERR ";
    // The repeated arguments don't count.
    std::string_view text = without_echo(error);
    const auto is_at = [&](std::size_t at) {
        const std::size_t end = at + code.size();
        return text.substr(at).starts_with(code) && (end == text.size() || text[end] == ' ');
    };
    if (is_at(0) || (text.starts_with(general) && is_at(general.size()))) {
        return true;
    }
    constexpr std::string_view inner = " -";
    for (std::size_t at = text.find(inner); at != text.npos; at = text.find(inner, at + 1)) {
        if (is_at(at + inner.size())) {
            return true;
        }
    }
    // Servers before Redis 7 put the code after the line of the script.
    constexpr std::string_view line_end = ": ";
    const std::size_t script = text.find("@user_script:");
    for (std::size_t at = text.find(line_end, script); at != text.npos;
         at = text.find(line_end, at + 1)) {
        if (script != text.npos && is_at(at + line_end.size())) {
            return true;
        }
    }
    return false;
}

bool says_wrong_type(std::string_view error)
{
    return has_code(error, "WRONGTYPE");
}

bool says_key_not_permitted(std::string_view error)
{
    const std::size_t access = error.find(" to access ");
    return has_code(error, "NOPERM") && access != error.npos &&
           error.find(" key", access) != error.npos && error.find(" command") == error.npos;
}

bool is_about_state(std::string_view error)
{
    return is_temporary(error) || !unfit_because(error).empty() || has_code(error, "OOM") ||
           has_code(error, "MISCONF");
}

bool comes_from_script(std::string_view error)
{
    return error.find("@user_script") != error.npos;
}

bool says_bad_counter(std::string_view error)
{
    return says_wrong_type(error) || error.starts_with(counter_error) ||
           error.find("value is not an integer") != error.npos ||
           error.find("would overflow") != error.npos;
}

bool may_refuse_form(std::string_view error)
{
    return !is_about_state(error) && !says_bad_counter(error) && !says_key_not_permitted(error) &&
           !comes_from_script(error);
}

std::string_view temporary_because(std::string_view error)
{
    return text_of(error, std::array{loading, busy, try_again, master_down, cluster_down});
}

bool is_temporary(std::string_view error)
{
    return !temporary_because(error).empty();
}

std::string_view unfit_because(std::string_view error)
{
    return text_of(error, std::array{read_only, master_down, moved, asking, cluster_down, loading,
                                     no_replicas, no_login});
}

std::string clean_error(std::string_view text, std::string_view password)
{
    const std::string open = without_password(without_echo(text), password);
    std::string out = base::printable(without_tokens(open));
    cut(out);
    return out;
}

}  // namespace redlock::resp
