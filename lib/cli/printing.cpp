#include "cli/printing.hpp"

#include "base/text.hpp"
#include "cli/inspection_text.hpp"
#include "cli/nonblocking_stderr.hpp"

#include <boost/asio/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace redlock::cli {
namespace {

/// The name of an error, for comparison in scripts.
std::string word_for(error_code error)
{
    if (error.category() != error_category()) {
        return "failed";
    }
    switch (static_cast<errc>(error.value())) {
        case errc::contended: return "contended";
        case errc::unavailable: return "unavailable";
        case errc::expired: return "expired";
        case errc::lost: return "lost";
        case errc::not_held: return "not_held";
        default: return error == condition::invalid_argument ? "invalid_argument" : "failed";
    }
}

/// The name of an outcome as an identifier, as docs/errors.md lists it.
std::string word_for(node_outcome o)
{
    std::string word = to_string(o);
    std::replace(word.begin(), word.end(), ' ', '_');
    return word;
}

std::string word_for(exit_status status)
{
    switch (status) {
        case usage: return "invalid_argument";
        case unavailable: return "unavailable";
        case contended: return "contended";
        case lost: return "lost";
        default: return "failed";
    }
}

/// Messages that stderr does not take yet. The process does not wait for its reader, which may have
/// stopped to read: the wait would also stop the renewals of locks. So messages may come late, and
/// the oldest ones may be lost.
class message_queue {
public:
    void add(const std::string& text)
    {
        constexpr std::size_t longest = 64 * 1024;
        waiting_ += text;
        write_some();
        while (waiting_.size() > longest && drop_message()) {
        }
    }

    /// Writes as much as stderr takes now.
    void write_some()
    {
        while (!waiting_.empty()) {
            const ssize_t done = stderr_.write(waiting_);
            if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
                return;
            }
            if (done <= 0) {
                waiting_.clear();  // there is no way to report that stderr is closed
                return;
            }
            is_within_line_ = waiting_[static_cast<std::size_t>(done) - 1] != '\n';
            waiting_.erase(0, static_cast<std::size_t>(done));
        }
    }

    /// Writes all, if the reader reads it by the deadline.
    void write_until(std::chrono::steady_clock::time_point deadline)
    {
        using namespace std::chrono;
        for (write_some(); !waiting_.empty(); write_some()) {
            const auto left = ceil<milliseconds>(deadline - steady_clock::now());
            pollfd one{STDERR_FILENO, POLLOUT, 0};
            if (left <= 0ms || poll(&one, 1, static_cast<int>(left.count())) == 0) {
                return;
            }
        }
    }

private:
    /// Drops the oldest message, with its lines about nodes. A line that is half written stays.
    bool drop_message()
    {
        const std::size_t begin = is_within_line_ ? waiting_.find('\n') + 1 : 0;
        std::size_t end = waiting_.find('\n', begin);
        while (end != waiting_.npos && waiting_.compare(end + 1, 2, "  ") == 0) {
            end = waiting_.find('\n', end + 1);
        }
        if (end == waiting_.npos) {
            return false;
        }
        waiting_.erase(begin, end + 1 - begin);
        return true;
    }

    nonblocking_stderr stderr_;
    std::string waiting_;
    /// The text that is already written ends within a line.
    bool is_within_line_ = false;
};

/// Stderr belongs to the whole process, and so do the messages for it.
message_queue& messages()
{
    static message_queue all;
    return all;
}

void write(const std::string& text)
{
    messages().add(text);
}

std::string line_of(const nlohmann::json& value)
{
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

/// Whether the node brought no vote for another reason than a refusal. It may have granted the key
/// without a fencing token.
bool is_without_vote(const node_report& node)
{
    return is_out_of_use(node.outcome) ||
           (node.outcome == node_outcome::granted && !node.error.empty());
}

/// The reasons why nodes are out of use, with the number of nodes for each.
std::map<std::string, std::size_t> reasons_in(const report& r)
{
    std::map<std::string, std::size_t> reasons;
    for (const auto& node : r.nodes) {
        if (is_without_vote(node)) {
            ++reasons[node.error.empty() ? to_string(node.outcome) : node.error];
        }
    }
    return reasons;
}

/// The nodes' answers, one on each line, without the texts that the message before them contains.
std::string node_lines(const report& r, const std::string& message)
{
    std::string out;
    for (const auto& node : r.nodes) {
        out += in_column(node, r) + to_string(node.outcome);
        out += node.outcome == node_outcome::granted && is_without_vote(node)
                   ? " without a fencing token"
                   : "";
        if (node.outcome == node_outcome::refused && node.holder_ttl) {
            out += ", its key lives for " + seconds_text(*node.holder_ttl);
        }
        out += node.never_ends ? ", its key has no ttl" : "";
        if (!node.refused_resource.empty()) {
            out += ", for " + base::printable(node.refused_resource);
        }
        if (node.quarantine) {
            out += " for " + seconds_text(*node.quarantine);
        }
        if (message.find(node.error) == std::string::npos) {
            out += ": " + node.error + remedy_for(node.error);
        }
        out += '\n';
    }
    return out;
}

/// The resource that most nodes report as the first missing one. Empty for a single resource.
std::string missing_in(const report& r)
{
    std::map<std::string, std::size_t> named;
    for (const auto& node : r.nodes) {
        if (!node.refused_resource.empty()) {
            ++named[node.refused_resource];
        }
    }
    const auto most =
        std::ranges::max_element(named, {}, [](const auto& resource) { return resource.second; });
    return most == named.end()
               ? ""
               : "; the first resource that nodes miss is " + base::printable(most->first);
}

}  // namespace

bool is_out_of_use(node_outcome o) noexcept
{
    switch (o) {
        case node_outcome::undecided:
        case node_outcome::not_asked:
        case node_outcome::granted:
        case node_outcome::refused: return false;
        case node_outcome::timed_out:
        case node_outcome::disconnected:
        case node_outcome::stalled:
        case node_outcome::failed:
        case node_outcome::quarantined: return true;
    }
    return true;
}

std::string remedy_for(std::string_view reason)
{
    struct remedy {
        std::string_view part_of_reason;
        const char* text;
    };
    static constexpr auto permissions =
        "; `redlock doctor --resource NAME` names the missing permissions";
    static constexpr auto counters = "; `redlock doctor --resource NAME` says what to do";
    static constexpr remedy remedies[] = {
        {"refused user and password",
         "; the login comes from the URL, --user (REDLOCK_USER), --password-file "
         "(REDLOCK_PASSWORD) and the configuration file"},
        {"wants a login",
         "; give a password with --password-file or REDLOCK_PASSWORD, and a user with --user"},
        {"refused the database", "; the database comes from the URL or from --db"},
        {"NOPERM", permissions},
        {"has no permissions", permissions},
        {"no permitted command", permissions},
        {"can't run this command", permissions},
        {"can't access at least one of the keys", permissions},
        {"the fencing counter ", counters},
        {"a fencing counter of", counters},
        {"within node_timeout", "; --node-timeout gives the nodes more time"},
        {"it is not for ", "; use a name of the certificate in the URL, or --server-name"},
        {"certificate has expired",
         "; renew the certificate of the server, and check the date of this machine"},
        {"certificate is not yet valid",
         "; check the date of this machine, and the certificate of the server"},
        {"certificate verify failed",
         "; if its authority is yours, trust it with --ca-file, else give the server a valid "
         "certificate"},
        {"certificate required", "; give the client a certificate with --cert-file and --key-file"},
    };
    const auto* const found = std::ranges::find_if(remedies, [&](const remedy& one) {
        return reason.find(one.part_of_reason) != std::string_view::npos;
    });
    return found == std::end(remedies) ? "" : found->text;
}

std::string why_no_majority(const report& r)
{
    const auto gone = static_cast<std::size_t>(
        std::ranges::count(r.nodes, node_outcome::refused, &node_report::outcome));
    const auto away = static_cast<std::size_t>(std::ranges::count_if(r.nodes, is_without_vote));
    const auto quorum = r.nodes.size() / 2 + 1;
    if (r.nodes.size() - gone < quorum) {
        return keys_are_gone;
    }
    if (away == 0) {
        return make_error_code(errc::unavailable).message();
    }
    const auto of_all = " of " + std::to_string(r.nodes.size());
    std::string out = "No majority of the nodes can be used";
    if (r.nodes.size() - away >= quorum) {
        out = "No majority of the nodes agreed: ";
        out += gone == 0 ? "" : std::to_string(gone) + of_all + " refused, and ";
        out += std::to_string(away) + of_all + " can't be used";
    }
    const std::string advice = "; `redlock doctor` says what to do";
    // Several reasons and their remedies are printed next to their nodes.
    const auto reasons = reasons_in(r);
    if (reasons.size() > 1) {
        return out + advice;
    }
    const std::string& why = reasons.begin()->first;
    out += ": " + why;
    out += r.nodes.size() - away < quorum ? " (" + std::to_string(away) + of_all + ')' : "";
    const std::string remedy = remedy_for(why);
    return out + (remedy.empty() ? advice : remedy);
}

std::string in_column(const node_report& node, const report& r)
{
    const auto widest =
        std::ranges::max_element(r.nodes, {}, [](const node_report& n) { return n.node.size(); });
    return "  " + node.node + std::string(widest->node.size() - node.node.size() + 2, ' ');
}

std::string names(const std::vector<std::string>& resources)
{
    std::string out;
    for (const auto& resource : resources) {
        out += out.empty() ? "" : ", ";
        out += base::printable(resource);
    }
    return out;
}

std::string date_text(std::chrono::system_clock::time_point when)
{
    using namespace std::chrono;
    const auto second = floor<seconds>(when);
    const std::time_t time = system_clock::to_time_t(second);
    std::tm utc{};
    gmtime_r(&time, &utc);
    std::ostringstream out;
    out << std::put_time(&utc, "%FT%T.") << std::setfill('0') << std::setw(3)
        << floor<milliseconds>(when - second).count() << 'Z';
    return out.str();
}

std::string seconds_text(std::chrono::nanoseconds length)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(length).count());
    return text;
}

nlohmann::json to_json(const report& r)
{
    auto nodes = nlohmann::json::array();
    for (const auto& node : r.nodes) {
        nlohmann::json one{{"node", node.node},
                           {"outcome", word_for(node.outcome)},
                           {"elapsed_us", node.elapsed.count()}};
        if (!node.error.empty()) {
            one["error"] = node.error;
        }
        if (!node.refused_resource.empty()) {
            one["refused_resource"] = base::printable(node.refused_resource);
        }
        if (node.holder_ttl) {
            one["holder_ttl_ms"] = node.holder_ttl->count();
        }
        if (node.never_ends) {
            one["never_ends"] = true;
        }
        if (node.quarantine) {
            one["quarantine_ms"] = node.quarantine->count();
        }
        nodes.push_back(std::move(one));
    }
    return nodes;
}

error_code cause_of(error_code error, const report& r)
{
    if (error != errc::timed_out) {
        return error;
    }
    const auto away = std::ranges::count_if(r.nodes, is_without_vote);
    const auto quorum = r.nodes.size() / 2 + 1;
    const bool majority_away = r.nodes.size() - static_cast<std::size_t>(away) < quorum;
    return r.attempts == 0 || majority_away ? errc::unavailable : errc::contended;
}

std::string message_of(error_code cause, const report& r)
{
    if (cause == errc::unavailable) {
        return why_no_majority(r);
    }
    if (cause == errc::not_held) {
        return "The lock is not held with this owner token" + missing_in(r);
    }
    if (cause != errc::contended) {
        return cause.message();
    }
    const bool is_endless = std::ranges::any_of(r.nodes, &node_report::never_ends);
    return (r.holder_label.empty() ? cause.message()
                                   : "The resource is locked by " + r.holder_label) +
           (is_endless ? without_an_end(!r.holder_label.empty()) : "");
}

void write_waiting_messages()
{
    messages().write_some();
}

void write_last_messages()
{
    messages().write_until(std::chrono::steady_clock::now() + std::chrono::seconds(1));
}

void say(const std::string& message, bool json)
{
    write(json ? line_of({{"message", message}}) : "redlock: " + message + '\n');
}

void say(const std::string& message, const report& r, bool json)
{
    write(json ? line_of({{"message", message}, {"nodes", to_json(r)}})
               : "redlock: " + message + '\n' + node_lines(r, message));
}

void say(const std::string& resource, const inspection& found, const report& r, bool json)
{
    write(json ? line_of({{"inspection", inspection_json(resource, found, r)}})
               : "redlock: now " + inspection_text(resource, found, r));
}

void say(const std::string& line, const char* level, bool json)
{
    write(json ? line_of({{"level", level}, {"message", line}})
               : std::string("redlock: ") + level + ": " + line + '\n');
}

int say(const std::string& message, exit_status status, bool json)
{
    if (json) {
        write(line_of({{"error", word_for(status)},
                       {"message", message},
                       {"status", static_cast<int>(status)}}));
    } else {
        say(message, false);
    }
    return status;
}

int say(const std::string& message, const report& r, exit_status status, bool json)
{
    if (json) {
        write(line_of({{"error", word_for(status)},
                       {"message", message},
                       {"status", static_cast<int>(status)},
                       {"nodes", to_json(r)}}));
    } else {
        say(message, r, false);
    }
    return status;
}

int fail(const std::string& what, error_code error, const report& r, bool json)
{
    if (error == boost::asio::error::operation_aborted) {
        return internal;  // the user who cancelled it needs no message
    }
    const error_code cause = cause_of(error, r);
    const exit_status status = exit_status_of(cause);
    const std::string why = what + ": " + message_of(cause, r);
    if (json) {
        nlohmann::json out{{"error", word_for(cause)},
                           {"message", why},
                           {"status", static_cast<int>(status)},
                           {"attempts", r.attempts},
                           {"nodes", to_json(r)}};
        if (r.holder_ttl) {
            out["holder_ttl_ms"] = r.holder_ttl->count();
        }
        if (!r.holder_label.empty()) {
            out["holder_label"] = r.holder_label;
        }
        write(line_of(out));
    } else {
        say(why, r, false);
    }
    return status;
}

int fail(const std::string& why, exit_status status, bool json)
{
    return say(base::printable(why), status, json);
}

std::chrono::system_clock::time_point end_of(const lock& l)
{
    using namespace std::chrono;
    return system_clock::now() + duration_cast<system_clock::duration>(l.remaining());
}

}  // namespace redlock::cli
