#include "cli/doctor/findings.hpp"

#include "cli/doctor/words.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::cli {

using std::chrono::nanoseconds;

const char* to_string(severity s) noexcept
{
    switch (s) {
        case severity::note: return "note";
        case severity::warning: return "warning";
        case severity::error: return "error";
    }
    return "?";
}

const char* to_string(verdict::locks l) noexcept
{
    switch (l) {
        case verdict::locks::available: return "available";
        case verdict::locks::available_unsafely: return "available_unsafely";
        case verdict::locks::available_later: return "available_later";
        case verdict::locks::available_without_renewal: return "available_without_renewal";
        case verdict::locks::available_until_ttl: return "available_until_ttl";
        case verdict::locks::unavailable: return "unavailable";
        case verdict::locks::refused: return "refused";
    }
    return "?";
}

namespace {

using facts_list = std::vector<node_facts>;

/// The node that is the same server and was ready before `f`, or null. A client uses the earlier
/// node and reports the later one.
const node_facts* twin_of(const facts_list& nodes, const node_facts& f)
{
    const auto since = [&f](const node_facts& other) {
        return other.run_id == f.run_id ? other.ready_since : boot_clock::time_point::max();
    };
    if (f.run_id.empty() || since(f) == boot_clock::time_point::max()) {
        return nullptr;
    }
    const auto first = std::min_element(
        nodes.begin(), nodes.end(),
        [&](const node_facts& a, const node_facts& b) { return since(a) < since(b); });
    return &*first == &f ? nullptr : &*first;
}

/// The number of nodes that satisfy `is_so`. A server that several nodes lead to counts once.
template <class Predicate>
std::size_t count_in(const facts_list& nodes, Predicate is_so)
{
    return static_cast<std::size_t>(std::count_if(
        nodes.begin(), nodes.end(),
        [&](const node_facts& f) { return twin_of(nodes, f) == nullptr && is_so(f); }));
}

/// The number of usable nodes that satisfy `also`.
template <class Predicate>
std::size_t usable_in(const facts_list& nodes, const base::settings& s, Predicate also)
{
    return count_in(nodes, [&](const node_facts& f) { return is_usable(f, s) && also(f); });
}

std::size_t usable_in(const facts_list& nodes, const base::settings& s)
{
    return usable_in(nodes, s, [](const node_facts&) { return true; });
}

bool are_had_without_tokens(const facts_list& nodes, const base::settings& s)
{
    return s.quorum <=
           count_in(nodes, [&](const node_facts& f) { return is_usable_without_tokens(f, s); });
}

/// The first node whose URL leads to the same server. It is the node itself if the list doesn't
/// repeat it.
std::size_t first_of(const base::settings& s, std::size_t node)
{
    const auto found = std::find(s.nodes.begin(), s.nodes.end(), s.nodes[node]);
    return static_cast<std::size_t>(found - s.nodes.begin());
}

bool lists_one_twice(const base::settings& s)
{
    for (std::size_t i = 0; i < s.nodes.size(); ++i) {
        if (first_of(s, i) != i) {
            return true;
        }
    }
    return false;
}

void judge_twins(const facts_list& nodes, const base::settings& s, std::vector<finding>& out)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const node_facts& f = nodes[i];
        const node_facts& listed = nodes[first_of(s, i)];
        if (&listed != &f) {
            out.push_back({severity::error,
                           {},
                           "listed-twice",
                           "The same server is listed twice: " + f.node +
                               (listed.node == f.node ? "" : ", as " + listed.node) +
                               ". Clients refuse such a list.",
                           "Name each server once, and another server in place of this one."});
        } else if (const node_facts* const twin = twin_of(nodes, f);
                   twin != nullptr &&
                   first_of(s, static_cast<std::size_t>(twin - &nodes[0])) != i) {
            out.push_back({severity::error, f.node, "same-server",
                           "is the same server as " + twin->node + ": it has one vote, not two.",
                           "Name each server once, and another server in place of this one."});
        }
    }
}

// Majorities.

void judge_number(const base::settings& s, std::vector<finding>& out)
{
    const std::size_t n = s.nodes.size();
    if (n == 1) {
        out.push_back({severity::note,
                       {},
                       "one-node",
                       "There is only one node: without it no lock can be acquired.",
                       "Use three or five independent nodes."});
    } else if (n % 2 == 0) {
        const std::size_t spare = n - s.quorum;
        out.push_back({severity::warning,
                       {},
                       "even",
                       "The number of nodes is even: of " + std::to_string(n) + " " +
                           (spare == 0 ? "none" : "no more than " + std::to_string(spare)) +
                           " may fail, as of " + std::to_string(n - 1) + ".",
                       "Add a node, or remove one."});
    }
}

void judge_majority(const facts_list& nodes, const base::settings& s, std::vector<finding>& out)
{
    const std::size_t usable = usable_in(nodes, s);
    const std::size_t n = s.nodes.size();
    if (usable < s.quorum) {
        const char* const what =
            are_had_without_tokens(nodes, s) ? "No lock with a fencing token" : "No lock";
        out.push_back({severity::error,
                       {},
                       "no-quorum",
                       std::string(what) + " can be acquired: " + std::to_string(usable) + " of " +
                           count_text(n, "node") + " can be used, and " + std::to_string(s.quorum) +
                           (s.quorum == 1 ? " is" : " are") + " needed.",
                       usable == 0 ? "Correct what the doctor says of each node."
                                   : "Correct what the doctor says of the others."});
    } else if (usable == s.quorum && usable < n) {
        out.push_back({severity::warning,
                       {},
                       "no-spare",
                       "No further node may fail: " + std::to_string(usable) + " of " +
                           count_text(n, "node") + " can be used, and all of these are needed.",
                       "Correct what the doctor says of the others."});
    }
}

void judge_settings(const base::settings& s, std::vector<finding>& out)
{
    if (s.guard && s.guard->admit_new_nodes) {
        out.push_back({severity::warning,
                       {},
                       "admits-new-nodes",
                       "The restart guard admits nodes without a marker at once, also nodes that "
                       "lost their keys (--admit-new-nodes).",
                       "Leave that option out when the nodes are admitted."});
    }
}

/// Sorts by severity. Findings of the same severity keep their order.
std::vector<finding> worst_first(const std::vector<finding>& findings)
{
    std::vector<finding> sorted;
    sorted.reserve(findings.size());
    for (const severity weight : {severity::error, severity::warning, severity::note}) {
        std::copy_if(findings.begin(), findings.end(), std::back_inserter(sorted),
                     [&](const finding& f) { return f.weight == weight; });
    }
    return sorted;
}

/// Says which locks are possible if fewer than a majority of the nodes is usable. The text
/// continues after the number of usable nodes.
const char* rest_of_locks(const facts_list& nodes, const base::settings& s)
{
    if (!are_had_without_tokens(nodes, s)) {
        return "no lock can be acquired.";
    }
    const std::size_t renewing = count_in(
        nodes, [&](const node_facts& f) { return is_usable_without_tokens(f, s) && renews(f); });
    return renewing < s.quorum
               ? "no lock with a fencing token can be acquired, and no lock without one can be "
                 "renewed."
               : "locks can be acquired without fencing tokens only (--no-fencing).";
}

std::string text_of(const verdict& v, const char* rest)
{
    std::string text =
        count_text(v.nodes, "node") + ", " + std::to_string(v.quorum) + " needed, " +
        (v.well == v.usable ? std::string() : std::to_string(v.usable) + " usable, ") +
        std::to_string(v.well) + " well: ";
    switch (v.are) {
        case verdict::locks::available: return text + "locks can be acquired.";
        case verdict::locks::available_unsafely:
            return text + "locks can be acquired, but two clients may hold the same one.";
        case verdict::locks::available_later:
            return text + "locks can be acquired when the restart guard has admitted the nodes.";
        case verdict::locks::available_without_renewal:
            return text +
                   "locks can be acquired, but not renewed: the holder loses each when its ttl has "
                   "passed.";
        case verdict::locks::available_until_ttl:
            return text +
                   "locks can be acquired, but not released: each stays until its ttl has passed.";
        case verdict::locks::unavailable: return text + rest;
        case verdict::locks::refused: return text + "clients refuse the list.";
    }
    return text;
}

}  // namespace

std::vector<finding> judge(const facts_list& nodes, const base::settings& s)
{
    std::vector<finding> out;
    judge_majority(nodes, s, out);
    judge_number(s, out);
    judge_settings(s, out);
    for (const node_facts& f : nodes) {
        judge_node(f, s, out);
    }
    judge_twins(nodes, s, out);
    judge_clocks(nodes, s, out);
    return worst_first(out);
}

verdict conclude(const facts_list& nodes, const std::vector<finding>& findings,
                 const base::settings& s)
{
    verdict v;
    v.nodes = s.nodes.size();
    v.quorum = s.quorum;
    v.usable = usable_in(nodes, s);
    v.well = usable_in(nodes, s, [&](const node_facts& node) {
        return std::none_of(findings.begin(), findings.end(), [&](const finding& f) {
            return f.weight == severity::error && f.node == node.node;
        });
    });
    const std::size_t waiting = usable_in(
        nodes, s, [](const node_facts& node) { return node.admitted == admittance::not_admitted; });
    const bool is_unsafe = std::any_of(findings.begin(), findings.end(),
                                       [](const finding& f) { return f.breaks_exclusion; });
    if (lists_one_twice(s)) {
        v.are = verdict::locks::refused;
    } else if (v.usable < v.quorum) {
        v.are = verdict::locks::unavailable;
    } else if (is_unsafe) {
        v.are = verdict::locks::available_unsafely;
    } else if (v.usable - waiting < v.quorum && !s.guard->admit_new_nodes) {
        v.are = verdict::locks::available_later;
    } else if (usable_in(nodes, s, renews) < v.quorum) {
        v.are = verdict::locks::available_without_renewal;
    } else if (usable_in(nodes, s, gives_back) < v.quorum) {
        v.are = verdict::locks::available_until_ttl;
    } else {
        v.are = verdict::locks::available;
    }
    for (const finding& f : findings) {
        v.exit_status = std::max(v.exit_status, static_cast<int>(f.weight));
    }
    v.text = text_of(v, rest_of_locks(nodes, s));
    return v;
}

}  // namespace redlock::cli
