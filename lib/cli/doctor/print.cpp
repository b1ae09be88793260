#include "cli/doctor/print.hpp"

#include "cli/doctor/words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

using nlohmann::json;

const char* release_path(const node_facts& f)
{
    // A key that is forbidden says nothing against the command.
    const auto carries_out = [&](needed n) {
        return f[n].is == trial::outcome::went || f[n].is == trial::outcome::forbidden_key;
    };
    const bool is_native = carries_out(needed::native_delete);
    if (is_native && f.deletes_by == core::compare_and_delete::delifeq) {
        return "DELIFEQ";
    }
    if (is_native && f.deletes_by == core::compare_and_delete::delex) {
        return "DELEX";
    }
    if (carries_out(needed::evalsha)) {
        return "EVALSHA";
    }
    return carries_out(needed::eval) ? "EVAL" : "nothing";
}

/// The node's mode or role. A server reports its role in the reply to HELLO only with RESP3.
std::string role_of(const node_facts& f)
{
    if (f.mode == "cluster") {
        return "node of a cluster";
    }
    if (!f.mode.empty() && f.mode != "standalone") {
        return f.mode;
    }
    if (f.is_replica()) {
        return "replica";
    }
    return f.role.empty() ? "role not known" : f.role;
}

// Text.

std::string with_sign(bool is_positive, const std::string& number)
{
    return (is_positive ? "+" : "") + number;
}

/// The clock's offset and rate. A value that doesn't exceed its precision is printed as an upper
/// bound.
std::string clock_text(const clock_facts& c)
{
    const auto offset = std::chrono::abs(c.offset);
    std::string text = "clock ";
    if (offset <= c.offset_precision) {
        text += "within " + span_text(offset + c.offset_precision) + " of this machine's clock";
    } else {
        text += with_sign(c.offset.count() > 0, span_text(c.offset)) + " (within " +
                span_text(c.offset_precision) + ")";
    }
    if (!c.rate) {
        return text;
    }
    const double rate = std::abs(*c.rate);
    if (rate <= c.rate_precision) {
        return text + ", its rate within " + share_text(rate + c.rate_precision);
    }
    return text + ", its rate " + with_sign(*c.rate > 0, share_text(*c.rate)) + " (within " +
           share_text(c.rate_precision) + ")";
}

std::string line_of(const node_facts& f)
{
    if (f.reached == contact::none) {
        return f.node + ": not connected";
    }
    if (f.login_refused) {
        return f.node + ": login refused";
    }
    if (f.reached == contact::broken && !f.info && f.latency.samples == 0) {
        return f.node + ": connected, but no answer";
    }
    std::string line = f.node + ": ";
    if (f.info && !f.info->product.empty()) {
        const auto age = f.info->uptime;
        line += f.info->product + " " + f.info->version + ", " +
                (age.count() == 0 ? "just started" : "up for " + span_text(age)) + ", ";
    }
    line += role_of(f);
    if (f.latency.samples != 0) {
        line += ", answers within " + span_text(f.latency.median) +
                " (99 %: " + span_text(f.latency.p99) + ")";
    }
    if (f.clock) {
        line += ", " + clock_text(*f.clock);
    }
    if (f[needed::set].is != trial::outcome::untried) {
        line += std::string(", releases by ") + release_path(f);
    }
    return line + ", " + to_string(f.kept);
}

/// Whether two findings of different nodes can be printed together, because severity, kind and
/// remedy are the same.
bool asks_the_same(const finding& a, const finding& b)
{
    return &a == &b || (a.weight == b.weight && a.code == b.code && a.advice == b.advice &&
                        !a.node.empty() && !b.node.empty());
}

/// Prints each text of a group once, after the names of all nodes that it applies to.
void print_texts(std::ostream& out, const std::vector<const finding*>& group,
                 std::string_view indent)
{
    std::vector<std::string_view> said;
    for (const finding* const f : group) {
        if (std::find(said.begin(), said.end(), f->text) != said.end()) {
            continue;
        }
        out << (said.empty() ? "" : indent);
        said.push_back(f->text);
        const char* before = "";
        for (const finding* const g : group) {
            if (g->text == f->text && !g->node.empty()) {
                out << std::exchange(before, ", ") << g->node;
            }
        }
        out << (f->node.empty() ? "" : ": ") << f->text << '\n';
    }
}

void print_findings(std::ostream& out, const std::vector<finding>& findings)
{
    constexpr std::string_view indent = "         ";
    std::vector<bool> is_printed(findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) {
        std::vector<const finding*> group;
        for (std::size_t k = i; k < findings.size() && !is_printed[i]; ++k) {
            if (!is_printed[k] && asks_the_same(findings[i], findings[k])) {
                group.push_back(&findings[k]);
                is_printed[k] = k != i;
            }
        }
        if (!group.empty()) {
            std::string weight = to_string(findings[i].weight);
            weight.resize(indent.size(), ' ');
            out << weight;
            print_texts(out, group, indent);
            out << indent << findings[i].advice << '\n';
        }
    }
}

// JSON.

double milliseconds(std::chrono::nanoseconds span)
{
    return static_cast<double>(span.count()) / 1e6;
}

json of_clock(const clock_facts& c)
{
    json j{{"offset_ms", milliseconds(c.offset)},
           {"precision_ms", milliseconds(c.offset_precision)}};
    if (c.rate) {
        j["rate_ppm"] = *c.rate * 1e6;
        j["rate_precision_ppm"] = c.rate_precision * 1e6;
    }
    return j;
}

void add_info(json& j, const server_facts& i)
{
    j["server"] = i.product;
    j["version"] = i.version;
    j["uptime_s"] = i.uptime.count();
    j["replicas"] = i.replicas ? json(*i.replicas) : json();
    j["used_memory"] = i.used_memory;
    j["maxmemory"] = i.max_memory ? json(*i.max_memory) : json();
    j["maxmemory_policy"] = i.eviction;
}

json of_node(const node_facts& f)
{
    json j{{"node", f.node}, {"connected", f.reached != contact::none}};
    if (f.reached == contact::none) {
        return j;
    }
    j["role"] = role_of(f);
    j["protocol"] = f.protocol;
    j["run_id"] = f.run_id;
    j["persistence"] = to_string(f.kept);
    if (f[needed::set].is != trial::outcome::untried) {
        j["releases_by"] = release_path(f);
    }
    if (f.info) {
        add_info(j, *f.info);
    }
    if (f.latency.samples != 0) {
        j["latency"] = {{"samples", f.latency.samples},
                        {"median_ms", milliseconds(f.latency.median)},
                        {"p99_ms", milliseconds(f.latency.p99)},
                        {"longest_ms", milliseconds(f.latency.longest)}};
    }
    if (f.clock) {
        j["clock"] = of_clock(*f.clock);
    }
    return j;
}

json of_gap(const clock_gap& gap, const char* unit, double size)
{
    const auto named = [unit](const char* what) { return std::string(what) + "_" + unit; };
    return {{named("apart"), gap.apart / size},
            {named("precision"), gap.precision / size},
            {named("at_most"), gap.at_most / size},
            {"ahead", gap.ahead},
            {"behind", gap.behind}};
}

json of_comparison(const clock_comparison& c)
{
    json j = json::object();
    if (c.dates) {
        j["dates"] = of_gap(*c.dates, "ms", 1e6);
        j["dates"]["matters"] = c.dates_matter;
    }
    if (c.rates) {
        j["rates"] = of_gap(*c.rates, "ppm", 1e-6);
        j["rates"]["matters"] = c.rates_matter;
    }
    return j;
}

json of_finding(const finding& f)
{
    return {{"severity", to_string(f.weight)},
            {"node", f.node.empty() ? json() : json(f.node)},
            {"code", f.code},
            {"text", f.text},
            {"advice", f.advice}};
}

json of_verdict(const verdict& v)
{
    return {{"nodes", v.nodes}, {"needed", v.quorum},        {"usable", v.usable},
            {"well", v.well},   {"locks", to_string(v.are)}, {"exit_status", v.exit_status},
            {"text", v.text}};
}

}  // namespace

void print_text(std::ostream& out, const std::vector<node_facts>& nodes,
                const clock_comparison& clocks, const std::vector<finding>& findings,
                const verdict& v)
{
    for (const node_facts& f : nodes) {
        out << line_of(f) << '\n';
    }
    for (const std::string& line : clocks.lines) {
        out << line << '\n';
    }
    out << '\n';
    print_findings(out, findings);
    out << (findings.empty() ? "" : "\n") << v.text << '\n';
}

void print_json(std::ostream& out, const std::vector<node_facts>& nodes,
                const clock_comparison& clocks, const std::vector<finding>& findings,
                const verdict& v)
{
    json all{{"nodes", json::array()},
             {"clocks", of_comparison(clocks)},
             {"findings", json::array()},
             {"verdict", of_verdict(v)}};
    for (const node_facts& f : nodes) {
        all["nodes"].push_back(of_node(f));
    }
    for (const finding& f : findings) {
        all["findings"].push_back(of_finding(f));
    }
    // The doctor makes a server's text valid UTF-8 when it reads it. The error handler makes sure
    // that no text can end the output early.
    out << all.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace redlock::cli
