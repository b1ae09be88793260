#include "cli/taking.hpp"

#include "cli/printing.hpp"
#include "cli/session.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/ip/host_name.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The time after which a waiting command first prints that it waits, and the interval of its later
/// checks whether the nodes are usable.
constexpr std::chrono::milliseconds first_look = 1s;
constexpr std::chrono::milliseconds look_interval = 10s;

std::string waits_for_holder(const taking_options& o, const report& r)
{
    const std::string holder = r.holder_label.empty() ? "another client" : r.holder_label;
    std::string text = names(o.resources) + ": waiting: " + holder + " has it";
    const auto refusing = std::ranges::count(r.nodes, node_outcome::refused, &node_report::outcome);
    const auto endless = std::ranges::count(r.nodes, true, &node_report::never_ends);
    if (2 * endless > refusing) {
        text += without_an_end(!r.holder_label.empty());
    } else if (r.holder_ttl) {
        text += ", for " + seconds_text(*r.holder_ttl) + " more unless it is extended";
    }
    return text;
}

bool all_can_be_used(const report& r)
{
    return std::none_of(r.nodes.begin(), r.nodes.end(),
                        [](const node_report& node) { return is_out_of_use(node.outcome); });
}

}  // namespace

std::string label_of(const std::string& program, int process)
{
    boost::system::error_code unknown;
    const std::string host = asio::ip::host_name(unknown);
    const std::string where =
        " (pid " + std::to_string(process) + (unknown ? "" : " on " + host) + ')';
    const std::string name = program.substr(program.rfind('/') + 1);
    std::string out = name.substr(0, max_label_size - std::min(where.size(), max_label_size));
    out += where;
    std::ranges::replace_if(
        out, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
    return out;
}

asio::awaitable<taken> take(client& locks, const config& c, const taking_options& o,
                            std::optional<keep_alive> keep, bool json)
{
    const auto begun = boot_clock::now();
    const auto patience = o.wait && o.wait->length > 0ms ? o.wait->length : c.connect_timeout;
    const auto outage = o.max_outage ? o.max_outage->length : c.connect_timeout;
    // If possible all nodes take part, not only the first ones to connect.
    const auto longest = std::min({patience, c.connect_timeout, outage});
    const bool once = o.no_wait || (o.wait && o.wait->length == 0ms);
    // An acquire that waits goes on without nodes that need longer than the first look.
    co_await connected(locks, c, once ? longest : std::min(longest, first_look));
    taken out;
    redlock::acquire_options options{
        .ttl = o.ttl.length, .fencing = o.fencing, .keep_alive = keep, .report = &out.nodes};
    if (o.label) {
        options.label = *o.label;
    }
    if (o.max_outage) {
        options.max_outage = o.max_outage->length;
    }
    if (once) {
        options.max_attempts = 1;
        options.timeout = 0ms;
    }
    bool is_said = false;
    auto next_look = begun + first_look;
    for (bool told = false;;) {
        const auto now = boot_clock::now();
        const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun);
        const auto interval =
            std::max(std::chrono::duration_cast<std::chrono::milliseconds>(next_look - now), 1ms);
        const bool last = once || (o.wait && o.wait->length - waited <= interval);
        if (!once) {
            options.timeout = last ? std::max(o.wait->length - waited, 1ms) : interval;
        }
        std::tie(out.error, out.lock) =
            co_await locks.async_acquire(o.resources, options, asio::as_tuple(asio::deferred));
        if (last || out.error != errc::timed_out) {
            co_return out;
        }
        const bool away = cause_of(out.error, out.nodes) == errc::unavailable;
        // The time may have been too short for any answer. Then the next look is soon.
        const bool is_refused = std::ranges::any_of(out.nodes.nodes, [](const node_report& node) {
            return node.outcome == node_outcome::refused;
        });
        if (away && !told) {
            say(names(o.resources) + ": no majority of the nodes yet; redlock tries again",
                out.nodes, json);
        } else if (!away && is_refused && !is_said) {
            const std::string text = waits_for_holder(o, out.nodes);
            all_can_be_used(out.nodes) ? say(text, json) : say(text, out.nodes, json);
            is_said = true;
        }
        told = away;
        next_look = boot_clock::now() + (away || is_said ? look_interval : first_look);
    }
}

}  // namespace redlock::cli
