#include "cli/taking.hpp"

#include "cli/printing.hpp"
#include "cli/session.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace redlock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The time after which a waiting command first prints why it waits, and the interval of its later
/// checks whether the nodes are usable.
constexpr std::chrono::milliseconds first_look = 1s;
constexpr std::chrono::milliseconds look_interval = 10s;

std::ptrdiff_t refusing_in(const report& r)
{
    return std::ranges::count(r.nodes, node_outcome::refused, &node_report::outcome);
}

bool lacks_majority(const report& r)
{
    return cause_of(errc::timed_out, r) == errc::unavailable;
}

std::string waits_for_holder(const taking_options& o, const report& r)
{
    const std::string holder = r.holder_label.empty() ? "another client" : r.holder_label;
    std::string text = names(o.resources) + ": waiting: " + holder + " has it";
    const auto endless = std::ranges::count(r.nodes, true, &node_report::never_ends);
    if (2 * endless > refusing_in(r)) {
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

/// Inspects the resources until one of them shows why an acquire waits. Returns the report that an
/// attempt would have. A node with a key would refuse it, and a node without one would grant it.
asio::awaitable<report> look(client& locks, const std::vector<std::string>& resources)
{
    report out;
    for (const auto& resource : resources) {
        const auto found =
            co_await locks.async_inspect(resource, {.report = &out, .every_node = true});
        out.holder_label = found.holder_label;
        for (auto& node : out.nodes) {
            if (node.outcome == node_outcome::granted) {
                node.outcome = node_outcome::refused;
                node.refused_resource = resources.size() > 1 ? resource : "";
            } else if (node.outcome == node_outcome::refused) {
                node.outcome = node_outcome::granted;
                node.error.clear();  // about the label, which keeps no acquire out
            }
            if (node.holder_ttl) {
                out.holder_ttl =
                    std::min(out.holder_ttl.value_or(*node.holder_ttl), *node.holder_ttl);
            }
        }
        if (lacks_majority(out) || refusing_in(out) > 0) {
            break;
        }
    }
    co_return out;
}

/// Prints why an acquire waits: at `begin`, and later if that changes. `last` is the report of the
/// acquire. Ends when it is cancelled.
asio::awaitable<void> say_why(client& locks, const taking_options& o, const report& last,
                              boot_clock::time_point begin, bool json)
{
    asio::steady_timer timer(locks.get_executor());
    timer.expires_after(begin - boot_clock::now());
    bool is_said = false;
    for (bool told = false;;) {
        co_await timer.async_wait(asio::deferred);
        const report seen = co_await look(locks, o.resources);
        // An attempt shows more if the nodes answer questions and still do not grant the lock.
        const bool is_free = !lacks_majority(seen) && refusing_in(seen) == 0;
        const report& now = last.attempts > 0 && (lacks_majority(last) || is_free) ? last : seen;
        const bool away = lacks_majority(now);
        if (away && !told) {
            say(names(o.resources) + ": no majority of the nodes yet; redlock tries again", now,
                json);
        } else if (!away && refusing_in(now) > 0 && !is_said) {
            const std::string text = waits_for_holder(o, now);
            all_can_be_used(now) ? say(text, json) : say(text, now, json);
            is_said = true;
        }
        told = away;
        timer.expires_after(away || is_said ? look_interval : first_look);
    }
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
    redlock::acquire_options options{.ttl = o.ttl.length,
                                     .timeout = once ? 0ms : std::chrono::milliseconds::max(),
                                     .fencing = o.fencing,
                                     .keep_alive = keep,
                                     .report = &out.nodes};
    if (o.label) {
        options.label = *o.label;
    }
    if (o.max_outage) {
        options.max_outage = o.max_outage->length;
    }
    if (o.wait && !once) {
        const auto waited =
            std::chrono::duration_cast<std::chrono::milliseconds>(boot_clock::now() - begun);
        options.timeout = std::max(o.wait->length - waited, 1ms);
    }
    // One acquire for the whole wait keeps its place among the waiters.
    auto got = locks.async_acquire(o.resources, options, asio::as_tuple(asio::use_awaitable));
    if (once) {
        std::tie(out.error, out.lock) = co_await std::move(got);
    } else {
        using namespace asio::experimental::awaitable_operators;
        auto first =
            co_await (std::move(got) || say_why(locks, o, out.nodes, begun + first_look, json));
        std::tie(out.error, out.lock) = std::get<0>(std::move(first));
    }
    co_return out;
}

}  // namespace redlock::cli
