#pragma once

#include "base/entropy.hpp"
#include "base/instant.hpp"
#include "base/wall_clock.hpp"
#include "engine/link.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>

namespace redlock::engine {

/// What an alarm tells; on the client's executor.
class alarm_events {
public:
    virtual void on_alarm() = 0;

protected:
    alarm_events() = default;
    ~alarm_events() = default;
};

/// One wait at a time.
class alarm {
public:
    alarm() = default;
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;
    virtual ~alarm() = default;

    /// Has `whom`, kept alive until then, told once. What was set before is forgotten, unless it is
    /// on its way already. Where this throws for want of memory that stands instead, and is told
    /// at once if it would be too late: for that no memory is needed.
    virtual void set(base::nanos after, std::shared_ptr<alarm_events> whom) = 0;
    virtual void cancel() noexcept = 0;
    /// Of what was set last, how long until it is told, by the alarm's own clock: it stands still
    /// while the machine is suspended, and `world::now` does not. Not above zero: it is due.
    [[nodiscard]] virtual base::nanos left() const noexcept = 0;
};

/// All that a client has to do with besides its executor: time, randomness, connections.
class world {
public:
    world() = default;
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    virtual ~world() = default;

    /// Never goes backwards.
    [[nodiscard]] virtual base::instant now() noexcept = 0;
    /// As long-lived as the world.
    [[nodiscard]] virtual base::entropy& entropy() noexcept = 0;
    [[nodiscard]] virtual base::wall_clock& wall_clock() noexcept = 0;
    [[nodiscard]] virtual std::unique_ptr<alarm> make_alarm(
        const boost::asio::any_io_executor& ex) = 0;
    /// `tls` is null unless a node is to be spoken to that way.
    [[nodiscard]] virtual std::shared_ptr<link> make_link(
        const link_setup& setup, const std::shared_ptr<tls_context>& tls) = 0;
};

/// The real one.
[[nodiscard]] std::shared_ptr<world> make_system_world();

/**
 * Which world the clients of an execution context live in: the system's, unless the context was
 * given another before its first client, as a simulation does.
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
