#pragma once

#include "base/entropy.hpp"
#include "base/instant.hpp"
#include "base/wall_clock.hpp"
#include "engine/link.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>

namespace redlock::engine {

/// Receives the events of an alarm. Called on the client's executor.
class alarm_events {
public:
    virtual void on_alarm() = 0;

protected:
    alarm_events() = default;
    ~alarm_events() = default;
};

/// A timer with at most one pending wait.
class alarm {
public:
    alarm() = default;
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;
    virtual ~alarm() = default;

    /// Notifies `whom` once after `after`, and keeps it alive until then. Replaces the previous
    /// wait, unless that is already firing. If this throws for lack of memory, the previous wait
    /// remains. It then fires at once if it would otherwise be too late, which needs no memory.
    virtual void set(base::nanos after, std::shared_ptr<alarm_events> whom) = 0;
    virtual void cancel() noexcept = 0;
    /// The time until the alarm fires, by the alarm's own clock. Not above zero if it is due. That
    /// clock pauses while the machine is suspended; `world::now` doesn't.
    [[nodiscard]] virtual base::nanos left() const noexcept = 0;
};

/// Everything that a client uses apart from its executor: time, randomness, connections.
class world {
public:
    world() = default;
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    virtual ~world() = default;

    /// The current time. Never goes backwards.
    [[nodiscard]] virtual base::instant now() noexcept = 0;
    /// The source of randomness. It lives as long as the world.
    [[nodiscard]] virtual base::entropy& entropy() noexcept = 0;
    [[nodiscard]] virtual base::wall_clock& wall_clock() noexcept = 0;
    [[nodiscard]] virtual std::unique_ptr<alarm> make_alarm(
        const boost::asio::any_io_executor& ex) = 0;
    /// Creates a link. `tls` is null for a node without TLS.
    [[nodiscard]] virtual std::shared_ptr<link> make_link(
        const link_setup& setup, const std::shared_ptr<tls_context>& tls) = 0;
};

/// The world of the operating system.
[[nodiscard]] std::shared_ptr<world> make_system_world();

/**
 * The world that the clients of an execution context use. It is the system's world, unless the
 * context was given another one before its first client, as a simulation does.
 */
class world_service : public boost::asio::execution_context::service {
public:
    using key_type = world_service;
    static boost::asio::execution_context::id id;

    explicit world_service(boost::asio::execution_context& context);
    world_service(boost::asio::execution_context& context, std::shared_ptr<world> w);

    [[nodiscard]] const std::shared_ptr<world>& get() const noexcept { return world_; }

private:
    void shutdown() override {}

    std::shared_ptr<world> world_;
};

}  // namespace redlock::engine
