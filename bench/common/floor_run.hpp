#pragma once

#include "load/endpoint.hpp"
#include "load/histogram.hpp"
#include "load/meter.hpp"
#include "load/options.hpp"

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
 * The common part of the reference programs: arguments, nodes, the bytes of the commands, and the
 * time to measure. So the programs differ only in how they talk to the nodes.
 */
class floor_run {
public:
    using clock = std::chrono::steady_clock;

    /// Reads the arguments, and starts local servers on request. Ends the process if the arguments
    /// are wrong.
    floor_run(int argc, char** argv, std::string name);

    [[nodiscard]] std::size_t workers() const noexcept { return options_.workers; }
    [[nodiscard]] std::size_t nodes() const noexcept { return urls_.size(); }
    [[nodiscard]] const std::vector<std::string>& urls() const noexcept { return urls_; }
    [[nodiscard]] std::size_t quorum() const noexcept { return urls_.size() / 2 + 1; }

    /// One connection for each node, with the release script loaded.
    [[nodiscard]] std::vector<stream_socket> connect_all(boost::asio::io_context& io);

    /// The version of another part of the measurement.
    void tell_version(const std::string& of, std::string version)
    {
        result_.versions[of] = std::move(version);
    }

    /// Starts the time, at first for the warm-up.
    void start();

    /// Counts one acquire that gave a lock.
    void acquired(clock::duration latency) { acquires_.add(latency); }
    /// Counts an acquire that gave no lock, or a release that found none.
    void failed() noexcept { ++result_.failures; }

    /// Counts one cycle that was completed at `now`. False if the run wants no further cycle.
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
 * to cycle. A counter is no owner token for real use, because it can be guessed and repeated. Here
 * it is the cheapest token.
 */
class commands {
public:
    /// The digest of the other Redlock clients' script.
    static constexpr std::string_view release_digest = "b70c2384248f88e6b75b9f89241a180f856ad852";
    static constexpr std::uint64_t ttl_ms = 10'000;

    explicit commands(std::size_t worker);

    /// Begins the next cycle, with an owner token of its own.
    void renew() noexcept;

    [[nodiscard]] const std::string& acquire() const noexcept { return acquire_; }
    [[nodiscard]] const std::string& release() const noexcept { return release_; }
    // The parts of the commands, for programs that format them by other means.
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
