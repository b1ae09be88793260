#include "cli/doctor/trials.hpp"

#include "core/fencing.hpp"
#include "core/label.hpp"
#include "resp/encoder.hpp"
#include "resp/error_text.hpp"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace redlock::cli {

trial outcome_of(needed n, const resp::reply& r, std::string_view password)
{
    using outcome = trial::outcome;
    const std::string_view text = r.text();
    // NOSCRIPT is a success: the user may run the script, and only its text is missing.
    if (!r.is_error() || text.starts_with("NOSCRIPT")) {
        return {outcome::went};
    }
    if (resp::says_key_not_permitted(text)) {
        return {outcome::forbidden_key};
    }
    if (text.starts_with("NOPERM")) {
        return {outcome::forbidden};
    }
    const bool is_script = n == needed::eval || n == needed::evalsha;
    const bool is_from_script = is_script && resp::comes_from_script(text);
    if (!is_from_script && (text.starts_with("ERR unknown") || text.starts_with("ERR Unknown"))) {
        return {outcome::unknown};
    }
    // Clients decide by the reply to SET whether a node takes writes, so each error of SET counts
    // as a failure.
    const bool is_failure = n == needed::set || resp::is_about_state(text) || is_from_script;
    return {is_failure ? outcome::failed : outcome::refused, resp::clean_error(text, password)};
}

trial outcome_in_script(const resp::reply& r, std::string_view password)
{
    using outcome = trial::outcome;
    const std::string_view text = r.text();
    const auto says = [text](std::string_view part) { return text.find(part) != text.npos; };
    if (!r.is_error()) {
        return {outcome::went};
    }
    if (resp::is_about_state(text)) {
        return {outcome::failed, resp::clean_error(text, password)};
    }
    const bool is_acl = says("NOPERM") || says("ACL failure") || says("user executing the script");
    if (resp::says_key_not_permitted(text) || (is_acl && !says("run th") && says(" access "))) {
        return {outcome::forbidden_key};
    }
    if (is_acl) {
        return {outcome::forbidden};
    }
    if (says("nknown command") || says("nknown Redis command") || says("nknown Valkey command")) {
        return {outcome::unknown};
    }
    return {outcome::refused, resp::clean_error(text, password)};
}

std::string fault_of_counter(const resp::reply& value)
{
    if (value.is_error()) {
        return resp::says_wrong_type(value.text()) ? "has another type" : "";
    }
    if (!value.is_string()) {
        return {};
    }
    const std::string_view text = value.text();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return "has a value that is no number";
    }
    return number >= core::largest_counter ? "has a value that is too large" : "";
}

std::string fault_of_label(const resp::reply& value)
{
    if (value.is_error()) {
        return resp::says_wrong_type(value.text()) ? "has another type" : "";
    }
    const bool is_label =
        !value.is_string() || value.text().empty() || !core::untied(value.text()).empty();
    return is_label ? "" : "has the value of another program";
}

void trials::put(words command)
{
    resp::append(talk_.out(), resp::word_list(command.begin(), command.size()));
}

void trials::attempt(needed n, words command)
{
    put(command);
    asked_.push_back(n);
}

boost::asio::awaitable<void> trials::hear(listener also)
{
    talk_.send();
    for (const needed n : asked_) {
        const resp::reply r = co_await talk_.next();
        // If a command is tried several times, its first failure counts.
        if (trial& t = facts_[n]; t.is == trial::outcome::untried || t.is == trial::outcome::went) {
            t = outcome_of(n, r, password_);
        }
        if (also) {
            also(n, r);
        }
    }
    asked_.clear();
}

boost::asio::awaitable<trial> trials::hear_script()
{
    co_return outcome_in_script(co_await talk_.next(), password_);
}

}  // namespace redlock::cli
