// Writes the client's log lines, and the events of locks that are kept alive, to spdlog. The client
// calls both sinks on its executor, and a sink must not hold it up. So the logger is asynchronous,
// and drops its oldest lines if it cannot keep up. No line has a password or an owner token in it.
//
// Run it with the nodes:
//
//     spdlog redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

spdlog::level::level_enum level_of(redlock::log_level level)
{
    switch (level) {
        case redlock::log_level::debug: return spdlog::level::debug;
        case redlock::log_level::info: return spdlog::level::info;
        case redlock::log_level::warning: return spdlog::level::warn;
        case redlock::log_level::error: return spdlog::level::err;
    }
    return spdlog::level::err;
}

spdlog::level::level_enum level_of(redlock::renewal_outcome outcome)
{
    switch (outcome) {
        case redlock::renewal_outcome::renewed: return spdlog::level::debug;
        case redlock::renewal_outcome::unknown:
        case redlock::renewal_outcome::limit_reached: return spdlog::level::warn;
        case redlock::renewal_outcome::lost: return spdlog::level::err;
    }
    return spdlog::level::err;
}

void log_to(const std::shared_ptr<spdlog::logger>& logger, redlock::config& config)
{
    config.log = [logger](redlock::log_level level, std::string_view line) {
        logger->log(level_of(level), "{}", line);  // not as the format: a line may hold braces
    };
    config.on_renewal = [logger](const redlock::renewal& r) {
        logger->log(level_of(r.outcome), "{}: {}, valid for {} ms", r.resource,
                    to_string(r.outcome), r.remaining / 1ms);
    };
}

asio::awaitable<void> work(redlock::client& locks, std::shared_ptr<spdlog::logger> logger)
{
    auto [error, lock] = co_await locks.async_acquire("orders/42", {.ttl = 10s, .timeout = 2s},
                                                      asio::as_tuple(asio::deferred));
    if (error) {
        logger->error("no lock: {}", error.message());
    } else {
        logger->info("{} is ours, by {} nodes", lock.resource(), lock.granted_by());
        co_await locks.async_release(std::move(lock), asio::as_tuple(asio::deferred));
    }
    co_await locks.async_close();
}

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: spdlog redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";
        return 2;
    }
    auto logger = spdlog::create_async_nb<spdlog::sinks::stdout_color_sink_mt>("redlock");
    logger->set_level(spdlog::level::debug);

    asio::io_context context;
    redlock::config config{.nodes = {argv + 1, argv + argc}};
    log_to(logger, config);
    redlock::client locks(context, config);
    locks.async_run(asio::detached);
    asio::co_spawn(context, work(locks, logger), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
    spdlog::shutdown();  // writes the lines in its queue
} catch (const std::exception& thrown) {
    std::cerr << "spdlog: " << thrown.what() << '\n';
    return 1;
}
