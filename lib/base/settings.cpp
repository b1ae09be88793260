#include "base/settings.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace redlock::base {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t billion = 1'000'000'000;
constexpr std::size_t least_buffered_bytes = 1024 * 1024;
constexpr std::int64_t max_ttl_in_years = max_ttl / std::chrono::hours{24 * 365};
/// The shortest ttl of a fencing counter. It is far longer than counters may be ahead of a node's
/// time, so an expired counter restarts above its last value.
constexpr milliseconds least_counter_ttl = std::chrono::minutes{1};
/// The largest counter slack. An even number of milliseconds, because half of it is used too.
constexpr milliseconds most_counter_slack{1000};

/// Rounds up. It doesn't use `std::ceil`, because the library would need the mathematics library
/// for that function alone. In a program that links the C++ library statically, its pages would
/// cost memory.
std::int64_t rounded_up(double none_below_zero)
{
    const auto whole = static_cast<std::int64_t>(none_below_zero);
    return static_cast<double>(whole) < none_below_zero ? whole + 1 : whole;
}

[[noreturn]] void refuse(const std::string& field, const std::string& why)
{
    throw boost::system::system_error(errc::invalid_config, "config::" + field + ": " + why);
}

void require(bool rule, const char* field, const char* why)
{
    if (!rule) {
        refuse(field, why);
    }
}

/// A text that contains a limit, built at compile time.
template <std::size_t Front, std::size_t Back>
class limit_text {
public:
    consteval limit_text(const char (&front)[Front], std::int64_t limit, const char (&back)[Back])
    {
        char* end = std::copy_n(front, Front - 1, text_.data());
        char digits[longest_number]{};
        std::size_t size = 0;
        for (; limit != 0; limit /= 10) {
            digits[size++] = static_cast<char>('0' + limit % 10);
        }
        end = std::reverse_copy(digits, digits + size, end);
        std::copy_n(back, Back, end);
    }
    constexpr operator const char*() const noexcept { return text_.data(); }

private:
    static constexpr std::size_t longest_number = 19;
    std::array<char, Front + longest_number + Back> text_{};
};

constexpr limit_text too_many_nodes("at most ", max_nodes, " are possible");
constexpr limit_text too_long_a_span("must be at most ", max_timeout / std::chrono::hours{1},
                                     " hours");
constexpr limit_text too_long_a_prefix("is longer than ", max_prefix_size, " bytes");
constexpr limit_text too_short_a_counter_ttl("must be at least ",
                                             least_counter_ttl / std::chrono::seconds{1}, " s");
constexpr limit_text too_long_a_counter_ttl("must be at most ", max_ttl_in_years, " years");
constexpr limit_text too_small_a_buffer("must be at least ", least_buffered_bytes >> 20U, " MiB");
constexpr limit_text too_long_a_resource("is longer than ", max_resource_size, " bytes");
constexpr limit_text too_long_a_label("is longer than ", max_label_size, " bytes");
constexpr limit_text too_short_a_ttl("is shorter than ", node_timeouts_per_ttl, " node timeouts");
constexpr limit_text too_long_a_ttl("is longer than ", max_ttl_in_years, " years");

std::string indexed(std::size_t i)
{
    return "nodes[" + std::to_string(i) + "]";
}

address parse_node(const std::string& url, std::size_t index, tls_support tls)
{
    auto parsed = parse_address(url);
    if (const auto* wrong = std::get_if<address_error>(&parsed)) {
        refuse(indexed(index), wrong->message);
    }
    auto& node = std::get<address>(parsed);
    if (node.via == address::transport::tls && tls == tls_support::absent) {
        refuse(indexed(index), "scheme: this build of the library has no TLS");
    }
    return std::move(node);
}

std::vector<address> parse_nodes(const std::vector<std::string>& urls, tls_support tls)
{
    require(!urls.empty(), "nodes", "at least one is needed");
    require(urls.size() <= max_nodes, "nodes", too_many_nodes);
    std::vector<address> nodes;
    nodes.reserve(urls.size());
    for (const std::string& url : urls) {
        address node = parse_node(url, nodes.size(), tls);
        const auto twin = std::find(nodes.begin(), nodes.end(), node);
        if (twin != nodes.end()) {
            const auto first = static_cast<std::size_t>(twin - nodes.begin());
            refuse(indexed(nodes.size()), "is the same server as " + indexed(first));
        }
        nodes.push_back(std::move(node));
    }
    return nodes;
}

struct span_rule {
    const char* field;
    milliseconds config::*value;
    /// The smallest allowed value. The largest is `max_timeout` for all fields.
    milliseconds least;
};

constexpr span_rule span_rules[] = {
    {"node_timeout", &config::node_timeout, milliseconds{1}},
    {"connect_timeout", &config::connect_timeout, milliseconds{1}},
    {"reconnect_backoff_min", &config::reconnect_backoff_min, milliseconds{1}},
    {"reconnect_backoff_max", &config::reconnect_backoff_max, milliseconds{1}},
    {"stall_timeout", &config::stall_timeout, milliseconds{1}},
    {"ping_interval", &config::ping_interval, milliseconds{0}},
    {"backoff_min", &config::backoff_min, milliseconds{0}},
    {"backoff_max", &config::backoff_max, milliseconds{0}},
    {"max_poll_interval", &config::max_poll_interval, milliseconds{1}},
    {"close_timeout", &config::close_timeout, milliseconds{0}},
};

void check_spans(const config& c)
{
    for (const span_rule& rule : span_rules) {
        const milliseconds value = c.*rule.value;
        const bool positive = rule.least.count() > 0;
        require(value >= rule.least, rule.field,
                positive ? "must be positive" : "must not be negative");
        require(value <= max_timeout, rule.field, too_long_a_span);
    }
    require(c.reconnect_backoff_min <= c.reconnect_backoff_max, "reconnect_backoff_min",
            "is above reconnect_backoff_max");
    require(c.backoff_min <= c.backoff_max, "backoff_min", "is above backoff_max");
    require(c.stall_timeout >= c.node_timeout, "stall_timeout", "is below node_timeout");
}

void check_texts(const config& c)
{
    const auto is_plain = [](char letter) { return letter > ' ' && letter <= '~'; };
    require(c.key_prefix.size() <= max_prefix_size, "key_prefix", too_long_a_prefix);
    require(c.client_name.size() <= max_prefix_size, "client_name", too_long_a_prefix);
    require(std::all_of(c.client_name.begin(), c.client_name.end(), is_plain), "client_name",
            "must be printable ASCII without spaces");
}

void check_tls(const tls_config& tls)
{
    // OpenSSL takes C strings, so it would silently ignore the text after a NUL.
    const auto has_nul = [](const std::string& text) { return text.find('\0') != text.npos; };
    require(!has_nul(tls.ca_file), "tls.ca_file", "has a NUL");
    require(!has_nul(tls.certificate_file), "tls.certificate_file", "has a NUL");
    require(!has_nul(tls.key_file), "tls.key_file", "has a NUL");
    require(!has_nul(tls.server_name), "tls.server_name", "has a NUL");
    require(tls.key_file.empty() || !tls.certificate_file.empty(), "tls.certificate_file",
            "is missing, and the private key needs it");
    require(tls.certificate_file.empty() || !tls.key_file.empty(), "tls.key_file",
            "is missing, and the certificate needs it");
}

void check_numbers(const config& c)
{
    // The comparison is written so that NaN fails it.
    require(c.drift_factor >= 0.0 && c.drift_factor < 1.0, "drift_factor",
            "must be from 0 to below 1");
    require(c.counter_ttl >= least_counter_ttl, "counter_ttl", too_short_a_counter_ttl);
    require(c.counter_ttl <= max_ttl, "counter_ttl", too_long_a_counter_ttl);
    require(c.max_in_flight >= 1, "max_in_flight", "must be at least 1");
    require(c.max_buffered_bytes >= least_buffered_bytes, "max_buffered_bytes", too_small_a_buffer);
}

/// Computes the restart guard's settings. A client may hold a lock that the node has lost for at
/// most the lock's validity. That client's clock differs from ours by at most the drift. The rest
/// of the quarantine is margin.
guard_settings make_guard(const settings& s, const guard_config& c)
{
    guard_settings g;
    if (const auto wrong = fault_of_ttl(s, c.max_ttl)) {
        refuse("restart_guard.max_ttl",
               std::string(wrong->why) + ", " + std::to_string(wrong->limit.count()) + " ms");
    }
    g.max_ttl = c.max_ttl;
    g.quarantine = g.max_ttl + s.drift(g.max_ttl);
    g.admit_new_nodes = c.admit_new_nodes;
    g.fingerprint = " nodes=" + std::to_string(s.nodes.size()) +
                    " max_ttl=" + std::to_string(c.max_ttl.count()) +
                    " drift=" + std::to_string(s.drift_ppb);
    return g;
}

bool is_control_character(char c) noexcept
{
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

error_code validate_min_validity(const settings& s, const acquire_options& options) noexcept
{
    const bool possible = options.min_validity >= milliseconds::zero() &&
                          options.min_validity < options.ttl &&
                          nanos{options.min_validity} < s.validity(options.ttl);
    return possible ? error_code{} : errc::invalid_min_validity;
}

}  // namespace

nanos settings::drift(nanos ttl) const noexcept
{
    // Computed in two parts, because ten years times a billion doesn't fit into 64 bits.
    const std::int64_t seconds = ttl.count() / billion;
    const std::int64_t rest = ttl.count() % billion;
    const std::int64_t share = seconds * drift_ppb + (rest * drift_ppb + billion - 1) / billion;
    return nanos{share} + fixed_drift;
}

settings make_settings(const config& c, tls_support tls)
{
    check_spans(c);
    check_numbers(c);
    check_texts(c);
    check_tls(c.tls);

    settings s;
    s.nodes = parse_nodes(c.nodes, tls);
    s.quorum = majority_of(s.nodes.size());
    s.key_prefix = c.key_prefix;
    s.client_name = c.client_name;
    s.node_timeout = c.node_timeout;
    s.drift_ppb = rounded_up(c.drift_factor * 1e9);
    s.connect_timeout = c.connect_timeout;
    s.reconnect_backoff_min = c.reconnect_backoff_min;
    s.reconnect_backoff_max = c.reconnect_backoff_max;
    s.stall_timeout = c.stall_timeout;
    s.ping_interval = c.ping_interval;
    s.backoff_min = c.backoff_min;
    s.backoff_max = c.backoff_max;
    s.backoff = c.backoff;
    s.release_notifications = c.release_notifications;
    s.fair_queue = c.fair_queue;
    s.max_poll_interval = c.max_poll_interval;
    s.close_timeout = c.close_timeout;
    s.fencing = c.fencing;
    s.counter_ttl = c.counter_ttl;
    s.counter_slack = most_counter_slack;
    s.max_in_flight = c.max_in_flight;
    s.max_waiters = c.max_waiters;
    s.max_waiters_per_resource = c.max_waiters_per_resource;
    s.max_buffered_bytes = c.max_buffered_bytes;
    s.max_pending_releases = c.max_pending_releases;
    if (c.restart_guard) {
        s.guard = make_guard(s, *c.restart_guard);
        s.counter_slack = std::min<nanos>(s.counter_slack, s.guard->max_ttl / 4);
    }
    s.credentials = c.credentials;
    s.tls = c.tls;
    s.thread_safe = c.thread_safe;
    s.log = c.log;
    s.on_renewal = c.on_renewal;
    return s;
}

const char* fault_of_resource(const settings& s, std::string_view resource) noexcept
{
    if (resource.empty()) {
        return "is empty";
    }
    if (resource.size() > max_resource_size) {
        return too_long_a_resource;
    }
    if (resource.ends_with(counter_suffix)) {
        return "ends with ':fencing', as the names of fencing counters do";
    }
    if (resource.ends_with(holder_suffix)) {
        return "ends with ':redlock:holder', as the names of holders' labels do";
    }
    if (resource.ends_with(queue_suffix)) {
        return "ends with ':redlock:queue', as the names of queues do";
    }
    if (resource.ends_with(ticket_suffix)) {
        return "ends with ':redlock:ticket', as the names of tickets do";
    }
    const bool is_of_the_guard =
        s.guard && (resource == marker_resource || resource.starts_with(pending_resource));
    return is_of_the_guard ? "is a name of the restart guard's own" : nullptr;
}

const char* fault_of_label(std::string_view label) noexcept
{
    if (label.size() > max_label_size) {
        return too_long_a_label;
    }
    return std::ranges::any_of(label, is_control_character) ? "has a control character" : nullptr;
}

std::optional<ttl_fault> fault_of_ttl(const settings& s, milliseconds ttl) noexcept
{
    // The range is checked first, because only a value within it can be converted to nanoseconds.
    const auto least = std::chrono::ceil<milliseconds>(node_timeouts_per_ttl * s.node_timeout);
    if (ttl < least) {
        return ttl_fault{too_short_a_ttl, least};
    }
    if (ttl > max_ttl) {
        return ttl_fault{too_long_a_ttl, max_ttl};
    }
    if (s.guard && nanos{ttl} > s.guard->max_ttl) {
        return ttl_fault{"is longer than the restart guard allows",
                         std::chrono::floor<milliseconds>(s.guard->max_ttl)};
    }
    if (s.validity(ttl) <= nanos::zero()) {
        return ttl_fault{"is not longer than its allowance for clock drift",
                         std::chrono::ceil<milliseconds>(s.drift(ttl))};
    }
    return std::nullopt;
}

error_code validate_resource(const settings& s, std::string_view resource) noexcept
{
    return fault_of_resource(s, resource) == nullptr ? error_code{} : errc::invalid_resource;
}

std::optional<resources_fault> fault_of_resources(const settings& s,
                                                  std::span<const std::string> resources)
{
    if (resources.empty()) {
        return resources_fault{errc::invalid_resource, "resources: there are none"};
    }
    if (resources.size() > max_resources) {
        return resources_fault{errc::invalid_resource,
                               "resources: there are more than " + std::to_string(max_resources)};
    }
    std::size_t size = 0;
    for (std::size_t i = 0; i < resources.size(); ++i) {
        if (const char* const why = fault_of_resource(s, resources[i])) {
            return resources_fault{errc::invalid_resource,
                                   "resource " + std::to_string(i + 1) + ": " + why};
        }
        size += resources[i].size();
    }
    if (size > max_resource_size) {
        return resources_fault{errc::invalid_resource,
                               "resources: all names together are longer than " +
                                   std::to_string(max_resource_size) + " bytes"};
    }
    std::vector<std::string_view> names(resources.begin(), resources.end());
    std::sort(names.begin(), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end());
    if (twin == names.end()) {
        return std::nullopt;
    }
    const auto place = std::find(resources.begin(), resources.end(), *twin) - resources.begin();
    return resources_fault{errc::duplicate_resource,
                           "resource " + std::to_string(place + 1) + ": is named twice"};
}

error_code validate_resources(const settings& s, std::span<const std::string> resources)
{
    const auto wrong = fault_of_resources(s, resources);
    return wrong ? make_error_code(wrong->code) : error_code{};
}

error_code validate_ttl(const settings& s, milliseconds ttl) noexcept
{
    return fault_of_ttl(s, ttl) ? make_error_code(errc::invalid_ttl) : error_code{};
}

error_code validate_options(const settings& s, const acquire_options& options) noexcept
{
    if (const error_code wrong = validate_ttl(s, options.ttl)) {
        return wrong;
    }
    if (options.timeout < milliseconds::zero()) {
        return errc::invalid_timeout;
    }
    if (options.max_attempts == 0) {
        return errc::invalid_max_attempts;
    }
    if (options.max_outage.value_or(milliseconds::zero()) < milliseconds::zero()) {
        return errc::invalid_max_outage;
    }
    if (options.keep_alive && options.keep_alive->max_hold.value_or(options.ttl) < options.ttl) {
        return errc::invalid_max_hold;
    }
    if (fault_of_label(options.label) != nullptr) {
        return errc::invalid_label;
    }
    return validate_min_validity(s, options);
}

nanos deadline_span(milliseconds deadline) noexcept
{
    return std::min(deadline, max_ttl);
}

}  // namespace redlock::base
