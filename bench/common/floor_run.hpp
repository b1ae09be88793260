#pragma once

#include "common/endpoint.hpp"
#include "common/histogram.hpp"
#include "common/meter.hpp"
#include "common/options.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::bench {

/**
 * What the reference programs share, so that they differ only in how they talk to the nodes:
 * arguments, the nodes, the bytes of the commands, and when to measure.
 */
class floor_run {
public:
    using clock = std::chrono::steady_clock;

    /// Reads the arguments and starts local servers where they are asked for. Ends the process if
    /// the arguments are wrong.
    floor_run(int argc, char** argv, std::string name);

    [[nodiscard]] std::size_t workers() const noexcept { return options_.workers; }
    [[nodiscard]] std::size_t nodes() const noexcept { return urls_.size(); }
    [[nodiscard]] const std::vector<std::string>& urls() const noexcept { return urls_; }
    [[nodiscard]] std::size_t quorum() const noexcept { return urls_.size() / 2 + 1; }

    /// One connection a node, the release script loaded on each.
    [[nodiscard]] std::vector<stream_socket> connect_all(boost::asio::io_context& io);

    /// The version of something else that takes part.
    void tell_version(const std::string& of, std::string version)
    {
        result_.versions[of] = std::move(version);
    }

    /// Time starts to run: first the warm-up.
    void start();

    /// One acquire that gave a lock.
    void acquired(clock::duration latency) { acquires_.add(latency); }
    /// An acquire that gave none, or a release that found none.
    void failed() noexcept { ++result_.failures; }

    /// One cycle that was completed, at `now`. False if no other is wanted.
    [[nodiscard]] bool next_cycle(clock::time_point now);

    /// Prints the result.
    void report() const;

private:
    void end_of_warm_up();
    void end();

    enum class phase { warming_up, measuring, over };

    std::string name_;
    floor_options options_;
    std::vector<std::string> urls_;
    std::optional<local_servers> servers_;

    phase phase_ = phase::warming_up;
    clock::time_point phase_end_;
    histogram acquires_;
    result result_;
    std::optional<meter> meter_;
};

/**
 * One worker's commands, formatted once; only the last digits of the owner token change from cycle
 * to cycle. A counter is no owner token for real use, as it can be guessed and repeated: it is the
 * least that can be done.
 */
class commands {
public:
    /// Of the script of the other Redlock clients.
    static constexpr std::string_view release_digest = "b70c2384248f88e6b75b9f89241a180f856ad852";
    static constexpr std::uint64_t ttl_ms = 10'000;

    explicit commands(std::size_t worker);

    /// The next cycle begins, with an owner token of its own.
    void renew() noexcept;

    [[nodiscard]] const std::string& acquire() const noexcept { return acquire_; }
    [[nodiscard]] const std::string& release() const noexcept { return release_; }
    // What is named in them, for who formats them by other means.
    [[nodiscard]] std::string_view resource() const noexcept { return resource_; }
    [[nodiscard]] std::string_view token() const noexcept
    {
        return std::string_view(release_).substr(token_in_release_, token_size_);
    }

private:
    std::uint64_t cycle_ = 0;
    std::string resource_;
    std::string acquire_;
    std::string release_;
    std::size_t token_size_;
    std::size_t token_in_release_;
    std::size_t acquire_digits_;
    std::size_t release_digits_;
};

}  // namespace redlock::bench
