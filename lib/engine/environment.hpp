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
    /// clock pauses while the machine is suspended; `environment::now` doesn't.
    [[nodiscard]] virtual base::nanos left() const noexcept = 0;
};

/// Everything that a client uses apart from its executor: time, randomness, connections.
class environment {
public:
    environment() = default;
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;
    virtual ~environment() = default;

    /// The current time. Never goes backwards.
    [[nodiscard]] virtual base::instant now() noexcept = 0;
    /// The source of randomness. It lives as long as the environment.
    [[nodiscard]] virtual base::entropy& entropy() noexcept = 0;
    [[nodiscard]] virtual base::wall_clock& wall_clock() noexcept = 0;
    [[nodiscard]] virtual std::unique_ptr<alarm> make_alarm(
        const boost::asio::any_io_executor& ex) = 0;
    /// Creates a link. `tls` is null for a node without TLS.
    [[nodiscard]] virtual std::shared_ptr<link> make_link(
        const link_setup& setup, const std::shared_ptr<tls_context>& tls) = 0;
};

/// The environment of the operating system.
[[nodiscard]] std::shared_ptr<environment> make_system_environment();

/**
 * The environment that the clients of an execution context use. It is the system's, unless the
 * context was given another one before its first client, as a simulation does.
 */
class environment_service : public boost::asio::execution_context::service {
public:
    using key_type = environment_service;
    static boost::asio::execution_context::id id;

    explicit environment_service(boost::asio::execution_context& context);
    environment_service(boost::asio::execution_context& context, std::shared_ptr<environment> w);

    [[nodiscard]] const std::shared_ptr<environment>& get() const noexcept { return environment_; }

private:
    void shutdown() override {}

    std::shared_ptr<environment> environment_;
};

}  // namespace redlock::engine
