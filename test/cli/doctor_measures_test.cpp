#include "cli/doctor/facts.hpp"
#include "cli/doctor/measures.hpp"
#include "cli/doctor/words.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::cli;
using namespace std::chrono_literals;

namespace {

constexpr boot_clock::time_point start{1000s};
constexpr std::chrono::system_clock::time_point date{1'700'000'000s};

/// A reading from a node that answers in the middle of the round trip and whose clock is ahead by
/// `ahead`.
sample at(std::chrono::nanoseconds after, std::chrono::nanoseconds trip,
          std::chrono::microseconds ahead)
{
    sample s;
    s.sent = start + after;
    s.answered = s.sent + trip;
    s.date = date + std::chrono::duration_cast<std::chrono::system_clock::duration>(after + trip);
    s.node_date = std::chrono::duration_cast<std::chrono::microseconds>(date.time_since_epoch() +
                                                                        after + trip / 2 + ahead);
    return s;
}

}  // namespace

TEST_CASE("latencies are reported as median and 99th percentile and maximum", "[cli][doctor]")
{
    std::vector<sample> samples;
    for (int i = 100; i > 0; --i) {
        samples.push_back(at(i * 10ms, i * 1ms, 0us));
    }
    const auto l = latency_of(samples);
    CHECK(l.samples == 100);
    CHECK(l.median == 50ms);
    CHECK(l.p99 == 100ms);
    CHECK(l.longest == 100ms);
    CHECK(latency_of({at(0s, 3ms, 0us)}).p99 == 3ms);
    CHECK(latency_of({}).samples == 0);
}

TEST_CASE("a clock's offset comes from the shortest round trip", "[cli][doctor]")
{
    auto slow = at(0s, 40ms, 250ms);
    *slow.node_date += 20ms;  // as if the node had answered at the very end
    const auto c = clock_of({slow, at(100ms, 2ms, 250ms), at(200ms, 60ms, 250ms)});
    REQUIRE(c);
    CHECK(c->offset == 250ms);
    CHECK(c->offset_precision == 1001us);
}

TEST_CASE("a clock's rate is its gain between two short round trips", "[cli][doctor]")
{
    const auto c = clock_of(
        {at(0s, 2ms, 0us), at(10ms, 80ms, 0us), at(900ms, 80ms, 0us), at(1000ms, 2ms, 20ms)});
    REQUIRE(c);
    REQUIRE(c->rate);
    CHECK(c->watched == 1002ms);
    CHECK(*c->rate == Catch::Approx(0.02));
    CHECK(c->rate_precision == Catch::Approx(0.002001));
}

TEST_CASE("a node without dates has no clock and a node with one date has no rate", "[cli][doctor]")
{
    auto undated = at(0s, 1ms, 0us);
    undated.node_date.reset();
    CHECK_FALSE(clock_of({undated, undated}));
    const auto once = clock_of({undated, at(10ms, 1ms, -5s)});
    REQUIRE(once);
    CHECK(once->offset == -5s);
    CHECK_FALSE(once->rate);
}

TEST_CASE("the doctor reads INFO as Redis and Valkey write it", "[cli][doctor]")
{
    const std::string run_id(40, 'e');
    const auto redis = read_info(
        "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
        "run_id:" +
        run_id +
        "\r\nuptime_in_seconds:86400\r\n"
        "loading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n"
        "rdb_last_bgsave_status:ok\r\nrole:master\r\n"
        "connected_slaves:2\r\nused_memory:1024\r\nmaxmemory:4096\r\n"
        "maxmemory_policy:allkeys-lru\r\ncluster_enabled:0\r\n");
    CHECK(redis.product == "Redis");
    CHECK(redis.version == "7.0.15");
    CHECK(redis.mode == "standalone");
    CHECK(redis.role == "master");
    CHECK(redis.run_id == run_id);
    CHECK(redis.replicas == 2);
    CHECK(redis.uptime == 24h);
    CHECK(redis.used_memory == 1024);
    CHECK(redis.max_memory == 4096);
    CHECK(redis.eviction == "allkeys-lru");
    CHECK(redis.appends);
    CHECK(redis.failed_write.empty());

    const auto valkey = read_info(
        "redis_version:7.2.4\r\nserver_name:valkey\r\n"
        "valkey_version:8.0.1\r\nserver_mode:standalone\r\n"
        "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6380\r\n"
        "cluster_enabled:1\r\nrdb_last_bgsave_status:err\r\n");
    CHECK(valkey.product == "Valkey");
    CHECK(valkey.version == "8.0.1");
    CHECK(valkey.mode == "cluster");
    CHECK(valkey.master == "10.0.0.1:6380");
    CHECK(valkey.failed_write == "rdb_last_bgsave_status:err");
}

TEST_CASE("the doctor reads the options of the restart guard's clients from the marker",
          "[cli][doctor]")
{
    const std::string run_id(40, 'e');
    CHECK(guard_of(run_id + " nodes=5 max_ttl=30000 drift=10000000 since=1700000000000000") ==
          "5 nodes, --max-ttl 30s and --drift 0.01");
    CHECK(guard_of(run_id + " nodes=1 max_ttl=1500 drift=1 since=1") ==
          "1 node, --max-ttl 1500ms and --drift 1e-09");
    CHECK(guard_of(run_id + " nodes=x max_ttl=1500 drift=1").empty());
    CHECK(guard_of(run_id + " nodes=3 max_ttl=9000000000000000000 drift=1").empty());
    CHECK(guard_of("").empty());
}

TEST_CASE("the local date advances with the boot clock", "[cli][doctor]")
{
    const auto before = boot_clock::now();
    const our_date ours;
    CHECK(ours.at(before + 1h) - ours.at(before) == 1h);
    const auto apart =
        std::chrono::abs(std::chrono::system_clock::now() - ours.at(boot_clock::now()));
    // The clocks are read one after the other, so the dates may differ by the time since `before`.
    CHECK(apart <= boot_clock::now() - before);
}

TEST_CASE("the doctor escapes control characters in a server's version", "[cli][doctor]")
{
    CHECK(read_info("redis_version:\x1b[2J\r\n").version == "\\x1b[2J");
    CHECK(read_info("redis_version:" + std::string(1000, 'x')).version.size() <= 64);
    CHECK(read_info("").version.empty());
    CHECK(read_info("connected_slaves:3").replicas == 3);
    CHECK(read_info("").replicas == 0);
}

TEST_CASE("p50: the doctor treats an unknown value in INFO as bad", "[cli][doctor][pitfall][p50]")
{
    CHECK(read_info("loading:0").loading.empty());
    CHECK(read_info("loading:replaying").loading == "replaying");
    CHECK(read_info("aof_last_write_status:ok\r\nrdb_last_bgsave_status:ok").failed_write.empty());
    CHECK(read_info("aof_last_write_status:failed").failed_write == "aof_last_write_status:failed");
    CHECK(read_info("rdb_last_bgsave_status:unknown").failed_write ==
          "rdb_last_bgsave_status:unknown");
    CHECK(read_info("redis_mode:standalone\r\ncluster_enabled:0").mode == "standalone");
    CHECK(read_info("redis_mode:standalone\r\ncluster_enabled:yes").mode == "cluster");
    CHECK_FALSE(read_info("connected_slaves:many").replicas);
    CHECK(read_info("").loading.empty());
    CHECK(read_info("").failed_write.empty());
}

TEST_CASE("spans and shares are printed with two digits", "[cli][doctor]")
{
    CHECK(span_text(83us) == "0.08 ms");
    CHECK(span_text(1234us) == "1.2 ms");
    CHECK(span_text(-50ms) == "-50 ms");
    CHECK(span_text(2500ms) == "2.5 s");
    CHECK(span_text(90s) == "90 s");
    CHECK(span_text(3min) == "3.0 minutes");
    CHECK(span_text(1h) == "60 minutes");
    CHECK(span_text(24h * 10) == "10 days");
    CHECK(share_text(0.013) == "1.3 %");
    CHECK(share_text(12e-6) == "12 ppm");
    CHECK(bytes_text(512 * 1024) == "512 KiB");
    CHECK(bytes_text(1) == "1 B");
    CHECK(count_text(1, "replica") == "1 replica");
    CHECK(count_text(2, "replica") == "2 replicas");
}
