#pragma once

#include "client_sim/clockwork.hpp"
#include "client_sim/sim_context.hpp"
#include "client_sim/sim_node.hpp"
#include "engine/environment.hpp"
#include "engine/stream_link.hpp"
#include "support/virtual/model_master.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

namespace redlock::test {

/// The environment of clients in virtual time: implements `engine::environment` with the clockwork.
class sim_world final : public engine::environment {
public:
    sim_world(clockwork& c, std::deque<sim_node>& nodes)
        : clock_(c),
          entropy_(c),
          date_(c),
          nodes_(nodes)
    {}

    base::instant now() noexcept override { return clock_.now(); }
    base::entropy& entropy() noexcept override { return entropy_; }
    base::wall_clock& wall_clock() noexcept override { return date_; }
    std::unique_ptr<engine::alarm> make_alarm(const boost::asio::any_io_executor& ex) override;
    std::shared_ptr<engine::link> make_link(
        const engine::link_setup& setup, const std::shared_ptr<engine::tls_context>& tls) override;

    /// Alarms made so far, and how often one was set.
    unsigned alarms = 0;
    unsigned alarm_settings = 0;

    /// Makes entropy always succeed.
    void spare_entropy() noexcept { entropy_.fails = 0; }
    /// Number of requests, and their bytes in total.
    struct asked {
        unsigned times = 0;
        std::size_t bytes = 0;

        bool operator==(const asked&) const = default;
    };
    [[nodiscard]] const asked& asked_for_entropy() const noexcept { return entropy_.total; }

private:
    class seeded final : public base::entropy {
    public:
        explicit seeded(clockwork& c) : clock_(c) {}
        bool fill(std::span<std::byte> out) noexcept override;

        /// One request in this many fails. 0 for never.
        std::uint32_t fails = 500;
        asked total;

    private:
        clockwork& clock_;
    };

    class date final : public base::wall_clock {
    public:
        explicit date(clockwork& c) : clock_(c) {}
        std::int64_t microseconds() noexcept override { return date_of(clock_.now()); }

    private:
        clockwork& clock_;
    };

    clockwork& clock_;
    seeded entropy_;
    date date_;
    std::deque<sim_node>& nodes_;
};

}  // namespace redlock::test
