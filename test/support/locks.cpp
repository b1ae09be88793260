#include "support/locks.hpp"

#include "support/run.hpp"

#include <redlock/client.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <stdexcept>
#include <utility>

namespace redlock::test {

using namespace std::chrono_literals;

namespace {

/// The password of a URL, as written; the tests' own ones need no decoding.
std::string password_of(std::string_view url)
{
    const auto scheme = url.find("://");
    const auto at = url.find('@');
    if (scheme == std::string_view::npos || at == std::string_view::npos) {
        return {};
    }
    const auto userinfo = url.substr(scheme + 3, at - scheme - 3);
    const auto colon = userinfo.find(':');
    return colon == std::string_view::npos ? std::string()
                                           : std::string(userinfo.substr(colon + 1));
}

}  // namespace

config patient(std::vector<std::string> nodes)
{
    config c;
    c.nodes = std::move(nodes);
    c.node_timeout = 15s;
    c.connect_timeout = patience;
    c.stall_timeout = patience;
    c.reconnect_backoff_min = 5ms;
    c.reconnect_backoff_max = 50ms;
    c.close_timeout = never;
    return c;
}

config brisk(std::vector<std::string> nodes, std::chrono::milliseconds stall_timeout)
{
    auto c = patient(std::move(nodes));
    c.node_timeout = brief_timeout;
    c.stall_timeout = stall_timeout;
    c.connect_timeout = brief_timeout;
    return c;
}

acquire_options lasting()
{
    return {.ttl = never, .timeout = never};
}

acquire_options once(report* told)
{
    return {.ttl = never, .timeout = 0s, .max_attempts = 1, .report = told};
}

struct locks::state {
    explicit state(config c) : client(std::in_place, context, logging(std::move(c))) {}

    config logging(config c)
    {
        for (const auto& url : c.nodes) {
            if (auto password = password_of(url); !password.empty()) {
                secrets.push_back(std::move(password));
            }
        }
        c.log = [this](log_level level, std::string_view line) {
            auto& kept = level == log_level::debug ? debug_lines : lines;
            kept.emplace_back(line);
            if (level != log_level::debug) {
                levels.push_back(level);
            }
        };
        return c;
    }

    /// Searched for but not printed, so that the test's own output has no secret either.
    [[nodiscard]] bool tells_a_secret(std::string_view text) const
    {
        return std::any_of(secrets.begin(), secrets.end(), [&](const std::string& secret) {
            return text.find(secret) != std::string_view::npos;
        });
    }

    boost::asio::io_context context{1};
    std::vector<std::string> secrets;
    std::vector<log_level> levels;
    std::vector<std::string> lines;
    std::vector<std::string> debug_lines;
    std::optional<redlock::client> client;
    bool run_ended = false;
};

locks::locks(config c) : state_(std::make_unique<state>(std::move(c)))
{
    state_->client->async_run([s = state_.get()](error_code) { s->run_ended = true; });
}

locks::~locks()
{
    state_->client.reset();
    CHECK(run_out(state_->context));
    CHECK(state_->run_ended);
    for (const auto* lines : {&state_->lines, &state_->debug_lines}) {
        CHECK(std::none_of(lines->begin(), lines->end(), [this](const std::string& line) {
            return state_->tells_a_secret(line);
        }));
    }
}

bool locks::await(const std::function<bool()>& done, std::chrono::milliseconds bound)
{
    return run_until(state_->context, done, bound);
}

void locks::run_until_done(const std::function<bool()>& done)
{
    if (!await(done)) {
        throw std::runtime_error("an operation did not end in time");
    }
}

void locks::check_told(const report* told)
{
    if (told != nullptr) {
        for (const auto& node : told->nodes) {
            CHECK_FALSE(state_->tells_a_secret(node.node + " " + node.error));
        }
    }
}

template <class Resource>
pending<taken> locks::ask_for(Resource resource, acquire_options options,
                              boost::asio::cancellation_slot stop)
{
    auto result = std::make_shared<std::optional<taken>>();
    state_->client->async_acquire(
        std::move(resource), options,
        boost::asio::bind_cancellation_slot(stop, [result](error_code ec, lock l) {
            result->emplace(taken{ec, std::move(l)});
        }));
    return result;
}

pending<taken> locks::begin_acquire(std::string_view resource, acquire_options options,
                                    boost::asio::cancellation_slot stop)
{
    return ask_for(resource, options, stop);
}

taken locks::acquire(std::string_view resource, acquire_options options)
{
    return check(finish(ask_for(resource, options)), options);
}

taken locks::acquire(std::vector<std::string> resources, acquire_options options)
{
    return check(finish(ask_for(std::move(resources), options)), options);
}

taken locks::check(taken result, const acquire_options& options)
{
    CHECK(static_cast<bool>(result.lock) == !result.error);
    if (result.lock) {
        keep_secret(std::string(result.lock.owner_token()));
    }
    check_told(options.report);
    return result;
}

redlock::lock locks::take(std::string_view resource, acquire_options options)
{
    auto result = acquire(resource, options);
    REQUIRE_FALSE(result.error);
    return std::move(result.lock);
}

redlock::lock locks::take(std::vector<std::string> resources, acquire_options options)
{
    auto result = acquire(std::move(resources), options);
    REQUIRE_FALSE(result.error);
    return std::move(result.lock);
}

void locks::give_back(redlock::lock held)
{
    CHECK(release(std::move(held)).result == release_result::released);
}

pending<error_code> locks::begin_extend(lock& held, std::chrono::milliseconds ttl)
{
    auto result = std::make_shared<std::optional<error_code>>();
    state_->client->async_extend(held, ttl, [result](error_code ec) { result->emplace(ec); });
    return result;
}

pending<error_code> locks::begin_wait_lost(lock& held)
{
    auto result = std::make_shared<std::optional<error_code>>();
    held.async_wait_lost([result](error_code ec) { result->emplace(ec); });
    return result;
}

error_code locks::extend(lock& held, std::chrono::milliseconds ttl, report* told)
{
    auto result = std::make_shared<std::optional<error_code>>();
    state_->client->async_extend(held, ttl, {.report = told},
                                 [result](error_code ec) { result->emplace(ec); });
    const auto ec = finish(result);
    check_told(told);
    return ec;
}

pending<released> locks::begin_release(lock held, report* told)
{
    auto result = std::make_shared<std::optional<released>>();
    state_->client->async_release(std::move(held), {.report = told},
                                  [result](error_code ec, release_result r) {
                                      result->emplace(released{ec, r});
                                  });
    return result;
}

released locks::release(lock held, report* told)
{
    const auto result = finish(begin_release(std::move(held), told));
    check_told(told);
    return result;
}

inspected locks::inspect(std::string_view resource, report* told)
{
    const auto found = finish(begin_inspect(resource, told));
    check_told(told);
    return found;
}

pending<inspected> locks::begin_inspect(std::string_view resource, report* told)
{
    auto result = std::make_shared<std::optional<inspected>>();
    state_->client->async_inspect(resource, {.report = told},
                                  [result](error_code ec, inspection i) {
                                      result->emplace(inspected{ec, i});
                                  });
    return result;
}

taken locks::adopt(std::string_view resource, std::string_view owner_token,
                   std::chrono::milliseconds ttl)
{
    auto result = std::make_shared<std::optional<taken>>();
    state_->client->async_adopt(resource, owner_token, ttl, [result](error_code ec, lock l) {
        result->emplace(taken{ec, std::move(l)});
    });
    return finish(result);
}

taken locks::adopt(std::vector<std::string> resources, std::string_view owner_token,
                   std::chrono::milliseconds ttl)
{
    auto result = std::make_shared<std::optional<taken>>();
    state_->client->async_adopt(std::move(resources), owner_token, ttl,
                                [result](error_code ec, lock l) {
                                    result->emplace(taken{ec, std::move(l)});
                                });
    return finish(result);
}

error_code locks::close()
{
    auto result = std::make_shared<std::optional<error_code>>();
    state_->client->async_close([result](error_code ec) { result->emplace(ec); });
    return finish(result);
}

bool locks::await_ready(std::size_t nodes)
{
    return await([&] { return stats().nodes_ready == nodes; });
}

bool locks::await_quiet()
{
    return await([&] {
        const auto now = stats();
        return now.in_flight == 0 && now.unanswered == 0;
    });
}

stats locks::stats() const
{
    return state_->client->stats();
}

const std::vector<std::string>& locks::lines() const
{
    return state_->lines;
}

bool locks::logged(log_level level, std::string_view text) const
{
    for (std::size_t i = 0; i < state_->lines.size(); ++i) {
        if (state_->levels[i] == level && state_->lines[i].find(text) != std::string::npos) {
            return true;
        }
    }
    return false;
}

void locks::keep_secret(std::string text)
{
    state_->secrets.push_back(std::move(text));
}

ready_locks::ready_locks(config c) : locks(c)
{
    if (!await_ready(c.nodes.size())) {
        throw std::runtime_error("the client did not connect in time");
    }
}

void need(flavour kind)
{
    if (!is_installed(kind)) {
        SKIP(program_of(kind) << " is not installed");
    }
}

flavour each_kind()
{
    const auto kind = GENERATE(from_range(kinds()));
    need(kind);
    return kind;
}

}  // namespace redlock::test
