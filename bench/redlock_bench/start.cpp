#include "load/figures.hpp"
#include "load/histogram.hpp"
#include "load/servers.hpp"
#include "load/versions.hpp"
#include "redlock_bench/commands.hpp"

#include <redlock/client.hpp>

#include <nlohmann/json.hpp>

#include <boost/asio/io_context.hpp>

#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

namespace redlock::bench {
namespace {

/// Makes one client after the other. Each takes a lock, releases it and is closed.
class beginner {
public:
    beginner(config c, std::size_t times) : config_(std::move(c)), left_(times) {}

    void operator()()
    {
        for (; left_ > 0; --left_) {
            once();
        }
    }

    [[nodiscard]] const histogram& taken() const noexcept { return taken_; }

private:
    void once()
    {
        const auto began = bench_clock::now();
        boost::asio::io_context io{1};
        client locks(io, config_);
        lock held;
        locks.async_run([](error_code) {});
        locks.async_acquire("start", {}, [&](error_code why, lock l) {
            if (why) {
                throw std::runtime_error("no first lock: " + why.message());
            }
            taken_.add(bench_clock::now() - began);
            held = std::move(l);
            locks.async_release(std::move(held), [&](error_code, release_result) {
                locks.async_close([](error_code) {});
            });
        });
        io.run();
    }

    config config_;
    std::size_t left_;
    histogram taken_;
};

}  // namespace

int start(const start_options& o)
{
    std::optional<local_servers> servers;
    const auto urls = o.nodes.empty() ? servers.emplace(o.local).urls() : o.nodes;
    beginner b(o.config_for(urls), o.times);
    b();
    const nlohmann::ordered_json told{
        {"name", "start"},
        {"versions", library_versions(urls)},
        {"nodes", urls.size()},
        {"times", o.times},
        {"first_lock_p50_us", b.taken().percentile_us(0.5)},
        {"first_lock_p99_us", b.taken().percentile_us(0.99)},
        {"first_lock_max_us", b.taken().percentile_us(1)},
    };
    std::cout << told.dump(2) << '\n';
    return 0;
}

}  // namespace redlock::bench
