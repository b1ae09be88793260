#include "base/settings.hpp"

#include <boost/system/system_error.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::base;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

config one_node()
{
    config c;
    c.nodes = {"redis://h"};
    return c;
}

config nodes(std::size_t count)
{
    config c;
    for (std::size_t i = 0; i < count; ++i) {
        c.nodes.push_back("redis://h" + std::to_string(i));
    }
    return c;
}

/// The text with which a configuration is refused. Empty if it is accepted.
std::string refusal(const config& c, tls_support tls = tls_support::present)
{
    try {
        (void)make_settings(c, tls);
    } catch (const boost::system::system_error& e) {
        CHECK(e.code() == errc::invalid_config);
        return e.what();
    }
    return {};
}

std::string refusal_after(const std::function<void(config&)>& change)
{
    config c = one_node();
    change(c);
    return refusal(c);
}

struct span_field {
    const char* name;
    milliseconds config::*value;
    bool may_be_zero;
};

const std::vector<span_field> span_fields = {
    {"node_timeout", &config::node_timeout, false},
    {"connect_timeout", &config::connect_timeout, false},
    {"reconnect_backoff_min", &config::reconnect_backoff_min, false},
    {"reconnect_backoff_max", &config::reconnect_backoff_max, false},
    {"stall_timeout", &config::stall_timeout, false},
    {"ping_interval", &config::ping_interval, true},
    {"backoff_min", &config::backoff_min, true},
    {"backoff_max", &config::backoff_max, true},
    {"close_timeout", &config::close_timeout, true},
};

/// A configuration in which one field can take any allowed value without breaking a rule between
/// two fields.
config loose_but(milliseconds config::*field, milliseconds value)
{
    config c = one_node();
    c.node_timeout = 1ms;
    c.stall_timeout = max_timeout;
    c.reconnect_backoff_min = 1ms;
    c.reconnect_backoff_max = max_timeout;
    c.backoff_min = 0ms;
    c.backoff_max = max_timeout;
    c.*field = value;
    return c;
}

bool begins_with(const std::string& text, const std::string& beginning)
{
    return text.rfind(beginning, 0) == 0;
}

settings with_drift(double factor, milliseconds node_timeout = 1ms)
{
    config c = one_node();
    c.drift_factor = factor;
    c.node_timeout = node_timeout;
    return make_settings(c);
}

}  // namespace

TEST_CASE("p02: the quorum of the settings is the integer majority of all nodes",
          "[base][settings][pitfall][p02]")
{
    const std::size_t table[] = {1, 2, 2, 3, 3, 4, 4};
    for (std::size_t n = 1; n <= std::size(table); ++n) {
        CHECK(majority_of(n) == table[n - 1]);
    }
    for (std::size_t n = 1; n <= max_nodes; ++n) {
        const settings s = make_settings(nodes(n));
        CHECK(s.nodes.size() == n);
        CHECK(s.quorum == majority_of(n));
        CHECK(2 * s.quorum > n);
        CHECK(2 * (s.quorum - 1) <= n);
    }
}

TEST_CASE("the settings carry every field of the configuration", "[base][settings]")
{
    config c = nodes(3);
    c.key_prefix = std::string("p\0\n", 3);
    c.client_name = "me";
    c.node_timeout = 11ms;
    c.drift_factor = 0.05;
    c.connect_timeout = 12ms;
    c.reconnect_backoff_min = 13ms;
    c.reconnect_backoff_max = 14ms;
    c.stall_timeout = 15ms;
    c.ping_interval = 16ms;
    c.backoff_min = 17ms;
    c.backoff_max = 18ms;
    c.close_timeout = 19ms;
    c.fencing = false;
    c.fair_queue = false;
    c.counter_ttl = 90s;
    c.max_in_flight = 20;
    c.max_buffered_bytes = 2'000'000;
    c.max_pending_releases = 21;
    c.tls.ca_file = "ca";
    c.thread_safe = true;
    c.log = [](log_level, std::string_view) {};

    const settings s = make_settings(c);
    CHECK(s.nodes[2].host == "h2");
    CHECK(s.key_prefix == c.key_prefix);
    CHECK(s.client_name == "me");
    CHECK(s.node_timeout == 11ms);
    CHECK(s.drift_ppb == 50'000'000);
    CHECK(s.connect_timeout == 12ms);
    CHECK(s.reconnect_backoff_min == 13ms);
    CHECK(s.reconnect_backoff_max == 14ms);
    CHECK(s.stall_timeout == 15ms);
    CHECK(s.ping_interval == 16ms);
    CHECK(s.backoff_min == 17ms);
    CHECK(s.backoff_max == 18ms);
    CHECK(s.close_timeout == 19ms);
    CHECK_FALSE(s.fencing);
    CHECK(make_settings(nodes(3)).fencing);
    CHECK_FALSE(s.fair_queue);
    CHECK(make_settings(nodes(3)).fair_queue);
    CHECK(s.counter_ttl == 90s);
    CHECK(s.max_in_flight == 20);
    CHECK(s.max_buffered_bytes == 2'000'000);
    CHECK(s.max_pending_releases == 21);
    CHECK(s.tls.ca_file == "ca");
    CHECK(s.thread_safe);
    CHECK(s.log);
}

TEST_CASE("p05: the settings refuse no nodes and too many nodes and a node twice",
          "[base][settings][pitfall][p05]")
{
    CHECK(begins_with(refusal(nodes(0)), "config::nodes: "));
    CHECK(begins_with(refusal(nodes(33)), "config::nodes: "));
    CHECK(refusal(nodes(32)).empty());

    config c = nodes(4);
    c.nodes[3] = "redis://someone:Zsecret@H1:6379/0";
    const std::string text = refusal(c);
    CHECK(begins_with(text, "config::nodes[3]: "));
    CHECK(text.find("nodes[1]") != std::string::npos);
    CHECK(text.find("Zsecret") == std::string::npos);
}

TEST_CASE("the settings name a bad URL by its index and without its secrets", "[base][settings]")
{
    for (const char* url :
         {"redis://Zuser:Zsecret@", "redis://Zuser:Zsecret@h:x", "Zuser:Zsecret@h",
          "redis://Zuser:Zsecret/@h", "unix://Zuser:Zsecret@h/s"}) {
        config c = nodes(3);
        c.nodes[1] = url;
        const std::string text = refusal(c);
        INFO(text);
        CHECK(begins_with(text, "config::nodes[1]: "));
        CHECK(text.find('Z') == std::string::npos);
    }
}

TEST_CASE("a TLS node needs a library with TLS", "[base][settings]")
{
    config c = nodes(2);
    c.nodes[1] = "rediss://h1";
    CHECK(refusal(c, tls_support::present).empty());
    CHECK(begins_with(refusal(c, tls_support::absent), "config::nodes[1]: scheme: "));
    CHECK(refusal(nodes(2), tls_support::absent).empty());
}

TEST_CASE("p45: each duration of a configuration has its limits", "[base][settings][pitfall][p45]")
{
    for (const span_field& field : span_fields) {
        INFO(field.name);
        const auto text = [&](milliseconds value) {
            return refusal(loose_but(field.value, value));
        };
        const std::string beginning = std::string{"config::"} + field.name + ": ";

        CHECK(text(1ms).empty());
        CHECK(text(max_timeout).empty());
        CHECK(text(0ms).empty() == field.may_be_zero);
        if (!field.may_be_zero) {
            CHECK(begins_with(text(0ms), beginning));
        }
        CHECK(begins_with(text(-1ms), beginning));
        CHECK(begins_with(text(max_timeout + 1ms), beginning));
        CHECK(begins_with(text(milliseconds::max()), beginning));
        CHECK(begins_with(text(milliseconds::min()), beginning));
    }
}

TEST_CASE("each duration of a configuration respects the others", "[base][settings]")
{
    const auto stall = [](milliseconds stalled, milliseconds node) {
        return refusal_after([&](config& c) { c.stall_timeout = stalled, c.node_timeout = node; });
    };
    CHECK(begins_with(stall(49ms, 50ms), "config::stall_timeout: "));
    CHECK(stall(50ms, 50ms).empty());

    const auto reconnect = [](milliseconds least, milliseconds most) {
        return refusal_after(
            [&](config& c) { c.reconnect_backoff_min = least, c.reconnect_backoff_max = most; });
    };
    CHECK(begins_with(reconnect(8ms, 7ms), "config::reconnect_backoff_min: "));
    CHECK(reconnect(8ms, 8ms).empty());

    const auto retry = [](milliseconds least, milliseconds most) {
        return refusal_after([&](config& c) { c.backoff_min = least, c.backoff_max = most; });
    };
    CHECK(begins_with(retry(8ms, 7ms), "config::backoff_min: "));
    CHECK(retry(8ms, 8ms).empty());
    CHECK(retry(0ms, 0ms).empty());
}

TEST_CASE("p45: the ttl of fencing counters has its limits", "[base][settings][pitfall][p45]")
{
    const auto text = [](milliseconds ttl) {
        return refusal_after([&](config& c) { c.counter_ttl = ttl; });
    };
    CHECK(text(1min).empty());
    CHECK(text(max_ttl).empty());
    for (const milliseconds bad : {milliseconds{1min} - 1ms, max_ttl + 1ms, 0ms, -1ms,
                                   milliseconds::max(), milliseconds::min()}) {
        CHECK(begins_with(text(bad), "config::counter_ttl: "));
    }
    // A lost counter gets a seed above its last value, so it must not be ahead by more than that.
    CHECK(make_settings(nodes(3)).counter_slack < 1min);
}

TEST_CASE("the drift factor is finite and at least 0 and below 1", "[base][settings]")
{
    const auto text = [](double factor) {
        return refusal_after([&](config& c) { c.drift_factor = factor; });
    };
    using limits = std::numeric_limits<double>;
    for (const double good : {0.0, -0.0, limits::denorm_min(), 0.01, 0.5, 0.9999}) {
        CHECK(text(good).empty());
    }
    for (const double bad : {1.0, 1.5, -0.001, limits::max(), limits::infinity(),
                             -limits::infinity(), limits::quiet_NaN()}) {
        CHECK(begins_with(text(bad), "config::drift_factor: "));
    }
}

TEST_CASE("each count of a configuration has its limits", "[base][settings]")
{
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    const auto in_flight = [](std::size_t n) {
        return refusal_after([&](config& c) { c.max_in_flight = n; });
    };
    CHECK(begins_with(in_flight(0), "config::max_in_flight: "));
    CHECK(in_flight(1).empty());
    CHECK(in_flight(most).empty());

    const auto buffered = [](std::size_t n) {
        return refusal_after([&](config& c) { c.max_buffered_bytes = n; });
    };
    CHECK(begins_with(buffered(0), "config::max_buffered_bytes: "));
    CHECK(begins_with(buffered(1024 * 1024 - 1), "config::max_buffered_bytes: "));
    CHECK(buffered(1024 * 1024).empty());
    CHECK(buffered(most).empty());

    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, most}) {
        CHECK(refusal_after([&](config& c) { c.max_pending_releases = n; }).empty());
    }
}

TEST_CASE("the client name is plain and the prefix is bounded", "[base][settings]")
{
    const auto name = [](std::string text) {
        return refusal_after([&](config& c) { c.client_name = std::move(text); });
    };
    CHECK(name("").empty());
    CHECK(name("!~az-09").empty());
    CHECK(name(std::string(1024, 'n')).empty());
    for (const std::string& bad :
         {std::string("a b"), std::string("a\n"), std::string("\x7f"), std::string("\xc3\xa9"),
          std::string(1, '\0'), std::string(1025, 'n')}) {
        CHECK(begins_with(name(bad), "config::client_name: "));
    }

    const auto prefix = [](std::string text) {
        return refusal_after([&](config& c) { c.key_prefix = std::move(text); });
    };
    CHECK(prefix(std::string("\0\r\n\xff ", 5)).empty());
    CHECK(prefix(std::string(1024, 'p')).empty());
    CHECK(begins_with(prefix(std::string(1025, 'p')), "config::key_prefix: "));
}

TEST_CASE("a client certificate needs its key and a key its certificate", "[base][settings]")
{
    const auto text = [](std::string certificate, std::string key) {
        return refusal_after([&](config& c) {
            c.tls.certificate_file = std::move(certificate);
            c.tls.key_file = std::move(key);
        });
    };
    CHECK(text("c", "k").empty());
    CHECK(begins_with(text("c", ""), "config::tls.key_file: "));
    CHECK(begins_with(text("", "k"), "config::tls.certificate_file: "));

    const std::string nul("a\0b", 3);
    CHECK(begins_with(text(nul, "k"), "config::tls.certificate_file: "));
    CHECK(begins_with(text("c", nul), "config::tls.key_file: "));
    CHECK(begins_with(refusal_after([&](config& c) { c.tls.ca_file = nul; }),
                      "config::tls.ca_file: "));
    CHECK(begins_with(refusal_after([&](config& c) { c.tls.server_name = nul; }),
                      "config::tls.server_name: "));
}

TEST_CASE("drift is a share of the ttl plus 2 ms and is rounded up", "[base][settings]")
{
    const settings paper = with_drift(0.01);
    CHECK(paper.drift(0ms) == 2ms);
    CHECK(paper.drift(10s) == 102ms);
    CHECK(paper.validity(10s) == 9898ms);
    CHECK(paper.drift(nanos{1}) == 2ms + nanos{1});
    CHECK(paper.drift(nanos{100}) == 2ms + nanos{1});
    CHECK(paper.drift(nanos{101}) == 2ms + nanos{2});

    CHECK(with_drift(0.0).drift(10s) == 2ms);
    CHECK(with_drift(1e-300).drift(10s) == 2ms + nanos{10});
    CHECK(with_drift(0.5).drift(1s + nanos{1}) == 502ms + nanos{1});
}

TEST_CASE("validity counts from the instant before sending", "[base][settings]")
{
    const settings s = with_drift(0.01);
    const instant t0{5s};
    const instant end = s.validity_end(t0, 10s);
    CHECK(end - t0 == s.validity(10s));
    CHECK(end == instant{14898ms});
}

TEST_CASE("p13: the largest ttl fits without overflow", "[base][settings][pitfall][p13]")
{
    for (const double factor : {0.0, 0.01, 0.999999999, 1.0 - 1e-12}) {
        const settings s = with_drift(factor);
        const nanos drift = s.drift(max_ttl);
        CHECK(drift >= 2ms);
        CHECK(drift <= nanos{max_ttl} + 2ms);
    }
    // A machine that has been up for a hundred years.
    const instant late{std::chrono::hours{24 * 365 * 100}};
    CHECK(with_drift(0.01).validity_end(late, max_ttl) > late);
}

TEST_CASE("p08: a ttl is refused unless it leaves validity", "[base][settings][pitfall][p08]")
{
    // Half of 4 ms and an allowance of 2 ms leave nothing.
    const settings half = with_drift(0.5);
    CHECK(half.validity(4ms - nanos{1}) < 0ms);
    CHECK(half.validity(4ms) == 0ms);
    CHECK(half.validity(4ms + nanos{2}) > 0ms);
    CHECK(validate_ttl(half, 4ms) == errc::invalid_ttl);
    CHECK_FALSE(validate_ttl(half, 5ms));

    const settings greedy = with_drift(0.99);
    CHECK(validate_ttl(greedy, 199ms) == errc::invalid_ttl);
    CHECK(validate_ttl(greedy, 200ms) == errc::invalid_ttl);
    CHECK_FALSE(validate_ttl(greedy, 201ms));
}

TEST_CASE("p31: a ttl is from four node timeouts to ten years", "[base][settings][pitfall][p31]")
{
    const settings s = with_drift(0.01, 50ms);
    CHECK(validate_ttl(s, 199ms) == errc::invalid_ttl);
    CHECK_FALSE(validate_ttl(s, 200ms));
    CHECK_FALSE(validate_ttl(s, max_ttl));
    CHECK(validate_ttl(s, max_ttl + 1ms) == errc::invalid_ttl);
    for (const milliseconds bad : {milliseconds::max(), milliseconds::min(), 0ms, 1ms, -1ms}) {
        CHECK(validate_ttl(s, bad) == errc::invalid_ttl);
    }

    config c = one_node();
    c.node_timeout = max_timeout;
    c.stall_timeout = max_timeout;
    CHECK(validate_ttl(make_settings(c), 4 * max_timeout - 1ms) == errc::invalid_ttl);
    CHECK_FALSE(validate_ttl(make_settings(c), 4 * max_timeout));
}

TEST_CASE("a refused ttl names the limit that it breaks", "[base][settings]")
{
    config c = one_node();
    c.node_timeout = 50ms;
    c.restart_guard = guard_config{.max_ttl = 10s};
    const settings guarded = make_settings(c);
    struct row {
        settings s;
        milliseconds ttl;
        std::string why;
        milliseconds limit;
    };
    const row rows[] = {
        {guarded, 199ms, "is shorter than 4 node timeouts", 200ms},
        {guarded, milliseconds::min(), "is shorter than 4 node timeouts", 200ms},
        {guarded, 10'001ms, "is longer than the restart guard allows", 10s},
        {guarded, milliseconds::max(), "is longer than 10 years", max_ttl},
        {with_drift(0.99), 200ms, "is not longer than its allowance for clock drift", 200ms},
    };
    for (const auto& [s, ttl, why, limit] : rows) {
        const auto found = fault_of_ttl(s, ttl);
        REQUIRE(found);
        CHECK(found->why == why);
        CHECK(found->limit == limit);
    }
    CHECK_FALSE(fault_of_ttl(guarded, 10s));
    c.restart_guard->max_ttl = 199ms;
    CHECK(refusal(c).find("restart_guard.max_ttl: is shorter than 4 node timeouts, 200 ms") !=
          std::string::npos);
}

TEST_CASE("a resource name has 1 to max_resource_size bytes of any kind", "[base][settings]")
{
    const settings s = make_settings(one_node());
    CHECK(validate_resource(s, "") == errc::invalid_resource);
    CHECK_FALSE(validate_resource(s, "a"));
    CHECK_FALSE(validate_resource(s, std::string(1, '\0')));
    CHECK_FALSE(validate_resource(s, "a\r\nDEL k\r\n"));
    CHECK_FALSE(validate_resource(s, std::string(max_resource_size, 'a')));
    CHECK(validate_resource(s, std::string(max_resource_size + 1, 'a')) == errc::invalid_resource);
    CHECK_FALSE(validate_resource(s, "redlock:admitted"));
}

TEST_CASE("each of several resources is allowed alone and differs from the others",
          "[base][settings]")
{
    const settings s = make_settings(one_node());
    const auto code = [&](std::vector<std::string> names) { return validate_resources(s, names); };
    CHECK(code({}) == errc::invalid_resource);
    CHECK_FALSE(code({"a"}));
    CHECK_FALSE(code({"b", "a", "c"}));
    CHECK(code({"a", "b", "a"}) == errc::duplicate_resource);
    CHECK(code({"a", "a:fencing"}) == errc::invalid_resource);
    CHECK(code({"a", ""}) == errc::invalid_resource);
    std::vector<std::string> many;
    for (std::size_t i = 0; i < max_resources; ++i) {
        many.push_back(std::to_string(i));
    }
    CHECK_FALSE(code(many));
    many.emplace_back("one too many");
    CHECK(code(many) == errc::invalid_resource);
    const std::string half(max_resource_size / 2, 'h');
    CHECK_FALSE(code({half, half.substr(1) + 'i'}));
    CHECK(code({half, half + 'i'}) == errc::invalid_resource);
}

TEST_CASE("the restart guard bounds the ttl and reserves its keys", "[base][settings]")
{
    config c = one_node();
    c.node_timeout = 50ms;
    c.restart_guard = guard_config{.max_ttl = 10s};
    const settings s = make_settings(c);
    REQUIRE(s.guard);
    CHECK_FALSE(validate_ttl(s, 10s));
    CHECK(validate_ttl(s, 10s + 1ms) == errc::invalid_ttl);
    CHECK(validate_resource(s, "redlock:admitted") == errc::invalid_resource);
    CHECK(validate_resource(s, "redlock:pending:x") == errc::invalid_resource);
    CHECK_FALSE(validate_resource(s, "redlock:admitted2"));
    CHECK_FALSE(validate_resource(s, "redlock:pending"));

    // The longest ttl and the drift of clocks in that time.
    CHECK(s.guard->quarantine == 10s + 100ms + 2ms);
    CHECK(s.guard->fingerprint == " nodes=1 max_ttl=10000 drift=10000000");

    for (const milliseconds bad : {0ms, -1ms, 199ms, milliseconds::max(), milliseconds::min()}) {
        c.restart_guard->max_ttl = bad;
        CHECK(refusal(c).find("restart_guard.max_ttl") != std::string::npos);
    }
}

TEST_CASE("no resource has the name of another's fencing counter", "[base][settings]")
{
    const settings s = with_drift(0.01, 50ms);
    CHECK(validate_resource(s, "r:fencing") == errc::invalid_resource);
    CHECK(validate_resource(s, ":fencing") == errc::invalid_resource);
    CHECK(validate_resource(s, "r:fencing:fencing") == errc::invalid_resource);
    CHECK_FALSE(validate_resource(s, "fencing"));
    CHECK_FALSE(validate_resource(s, "r:fencing/1"));
    CHECK_FALSE(validate_resource(s, "r:Fencing"));
}

TEST_CASE("no resource has the name of a key beside another's lock", "[base][settings]")
{
    const settings s = with_drift(0.01, 50ms);
    for (const std::string_view suffix :
         {counter_suffix, holder_suffix, queue_suffix, ticket_suffix}) {
        const std::string name(suffix);
        CAPTURE(name);
        CHECK(validate_resource(s, "r" + name) == errc::invalid_resource);
        CHECK(validate_resource(s, name) == errc::invalid_resource);
        CHECK_FALSE(validate_resource(s, name.substr(1)));
        CHECK_FALSE(validate_resource(s, "r" + name + "/1"));
        const std::vector<std::string> names{"a", "r" + name};
        CHECK(fault_of_resources(s, names).value().why.find("ends with '" + name + "'") !=
              std::string::npos);
    }
}

TEST_CASE("p45: acquire options are checked at 0 and 1 and their largest values",
          "[base][settings][pitfall][p45]")
{
    const settings s = with_drift(0.01, 50ms);
    const auto code = [&](const acquire_options& options) { return validate_options(s, options); };

    CHECK_FALSE(code({}));
    CHECK(code({.ttl = 0ms}) == errc::invalid_ttl);
    CHECK(code({.ttl = milliseconds::max()}) == errc::invalid_ttl);

    CHECK_FALSE(code({.timeout = 0ms}));
    CHECK_FALSE(code({.timeout = 1ms}));
    CHECK_FALSE(code({.timeout = milliseconds::max()}));
    CHECK(code({.timeout = -1ms}) == errc::invalid_timeout);
    CHECK(code({.timeout = milliseconds::min()}) == errc::invalid_timeout);

    CHECK(code({.max_attempts = 0}) == errc::invalid_max_attempts);
    CHECK_FALSE(code({.max_attempts = 1}));
    CHECK_FALSE(code({.max_attempts = unlimited}));

    CHECK_FALSE(code({.ttl = 10s, .min_validity = 0ms}));
    CHECK_FALSE(code({.ttl = 10s, .min_validity = 1ms}));
    CHECK_FALSE(code({.ttl = 10s, .min_validity = 9897ms}));
    CHECK(code({.ttl = 10s, .min_validity = 9898ms}) == errc::invalid_min_validity);
    CHECK(code({.ttl = 10s, .min_validity = 9899ms}) == errc::invalid_min_validity);
    CHECK(code({.min_validity = -1ms}) == errc::invalid_min_validity);
    CHECK(code({.min_validity = milliseconds::max()}) == errc::invalid_min_validity);
    CHECK(code({.min_validity = milliseconds::min()}) == errc::invalid_min_validity);
}

TEST_CASE("the default ttl leaves room for a node timeout of 2.5 s", "[base][settings]")
{
    config c = one_node();
    c.stall_timeout = 5s;
    c.node_timeout = 2500ms;
    CHECK_FALSE(validate_options(make_settings(c), {}));
    c.node_timeout = 2501ms;
    CHECK(validate_options(make_settings(c), {}) == errc::invalid_ttl);
}

TEST_CASE("the first wrong option is the one reported", "[base][settings]")
{
    const settings s = with_drift(0.01, 50ms);
    acquire_options options{.ttl = 0ms, .timeout = -1ms, .max_attempts = 0, .min_validity = -1ms};
    CHECK(validate_options(s, options) == errc::invalid_ttl);
    options.ttl = 10s;
    CHECK(validate_options(s, options) == errc::invalid_timeout);
    options.timeout = 0ms;
    CHECK(validate_options(s, options) == errc::invalid_max_attempts);
    options.max_attempts = 1;
    CHECK(validate_options(s, options) == errc::invalid_min_validity);
    options.min_validity = 0ms;
    CHECK_FALSE(validate_options(s, options));
}

TEST_CASE("an unlimited timeout is cut to what the clock can count", "[base][settings]")
{
    CHECK(deadline_span(0ms) == 0ms);
    CHECK(deadline_span(1ms) == 1ms);
    CHECK(deadline_span(max_ttl) == max_ttl);
    CHECK(deadline_span(max_ttl + 1ms) == max_ttl);
    CHECK(deadline_span(milliseconds::max()) == max_ttl);
}
