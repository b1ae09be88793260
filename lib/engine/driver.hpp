#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/held_lease.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_names.hpp>
#include <redlock/stats.hpp>

#include "base/instant.hpp"
#include "base/settings.hpp"
#include "core/client_core.hpp"
#include "engine/abandoned_leases.hpp"
#include "engine/completion_queue.hpp"
#include "engine/deliveries.hpp"
#include "engine/environment.hpp"
#include "engine/lazy_alarm.hpp"
#include "engine/node_links.hpp"
#include "engine/strand_requests.hpp"
#include "engine/turn_entropy.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace redlock::engine {

class context_watch;

using ticket_ptr = std::shared_ptr<detail::ticket>;

/**
 * The event loop of a client. It feeds bytes and time into the core, and takes bytes and
 * completions out of it.
 *
 * Each event requests a turn. The turn is posted, so it runs after the events that are ready by
 * then. It completes handlers and flushes each connection once. Everything runs on one executor.
 * The user serialises that executor, or `config::thread_safe` puts a strand around it.
 *
 * The client, its locks, and pending operations of the execution context keep the driver alive.
 */
class driver final : public alarm_events, public std::enable_shared_from_this<driver> {
public:
    /// Creates a driver.
    /// @throws boost::system::system_error with `errc::invalid_config`.
    [[nodiscard]] static std::shared_ptr<driver> make(boost::asio::any_io_executor ex,
                                                      const config& c);

    driver(boost::asio::any_io_executor ex, base::settings s);
    ~driver();

    // Operations, which the user may call from any thread that the configuration permits.
    void run(completion_ptr done, const ticket_ptr& t);
    void acquire(const resource_names& names, const acquire_options& o, completion_ptr done,
                 const ticket_ptr& t);
    void adopt(const resource_names& names, std::string_view owner, std::chrono::milliseconds ttl,
               const extend_options& o, completion_ptr done, const ticket_ptr& t);
    void extend(const detail::held_lease& l, std::chrono::milliseconds ttl, const extend_options& o,
                completion_ptr done, const ticket_ptr& t);
    void release(detail::held_lease l, const release_options& o, completion_ptr done,
                 const ticket_ptr& t);
    void inspect(std::string_view resource, const inspect_options& o, completion_ptr done,
                 const ticket_ptr& t);
    void wait_lost(const detail::held_lease& l, completion_ptr done, const ticket_ptr& t);
    void close(completion_ptr done, const ticket_ptr& t);
    void cancel(const ticket_ptr& t, boost::asio::cancellation_type type);
    void drop(core::lease& l) noexcept;
    void detach(core::lease& l) noexcept;
    /// Ends the client because the client object is being destroyed.
    void shut_down() noexcept;

    [[nodiscard]] const boost::asio::any_io_executor& user_executor() const noexcept
    {
        return user_executor_;
    }
    [[nodiscard]] detail::hop hops() const noexcept
    {
        return settings_.thread_safe ? detail::hop::out : detail::hop::none;
    }
    [[nodiscard]] redlock::stats stats() const;

    [[nodiscard]] base::instant now() const noexcept { return environment_->now(); }
    [[nodiscard]] bool is_stopped() const noexcept { return stopped_; }
    /// Requests a turn, if none is pending.
    void want_turn() noexcept;

    /// Destroys all sockets and all handlers uncalled, because the context won't run any handler
    /// again.
    void on_context_gone() noexcept;

private:
    template <class F>
    void enter(F f);
    template <class Begin>
    void begin(core::operation::kind what, completion_ptr done, const ticket_ptr& t, report* r,
               error_code invalid, Begin start);
    template <class Begin>
    void begin_on_lease(core::operation::kind what, const detail::held_lease& l,
                        completion_ptr done, const ticket_ptr& t, report* r, error_code invalid,
                        Begin start);
    void finish_later(completion_ptr done, error_code ec) noexcept;
    [[nodiscard]] error_code refuses() const noexcept;
    [[nodiscard]] std::optional<error_code> refuses(const detail::held_lease& l) const noexcept;

    void start(completion_ptr done, const ticket_ptr& t);
    void begin_close(completion_ptr done, const ticket_ptr& t);
    void stop(error_code for_run, error_code for_close) noexcept;
    void abandon_operations() noexcept;
    void cancel_wait(detail::completion* waiter) noexcept;
    void cancel_here(detail::ticket& t, boost::asio::cancellation_type type);

    void turn();
    void catch_up() noexcept;
    void deliver();
    void complete_some(std::size_t most);
    void tell_renewals() noexcept;
    void complete(core::operation& op);
    void complete(completion_ptr done, detail::outcome&& what);
    void flush();
    void set_alarm() noexcept;
    void on_alarm() override;
    void publish_stats();

    const base::settings settings_;
    // These three are empty after the context is gone, because a strand must not outlive its
    // context.
    boost::asio::any_io_executor user_executor_;
    /// The user's executor, or the strand around it.
    boost::asio::any_io_executor executor_;
    /// Runs functions after everything that is already queued.
    boost::asio::any_io_executor later_;
    context_watch* watch_;
    std::shared_ptr<environment> environment_;
    /// Draws from the environment's entropy. It outlives the core, which uses it.
    turn_entropy draws_;
    core::client_core core_;
    node_links links_;

    lazy_alarm alarm_;

    /// Completions that didn't pass through the core.
    completion_queue decided_;
    /// Handlers that go out of the strand together.
    deliveries deliveries_;
    completion_ptr running_;
    completion_queue closers_;
    base::instant close_by_{};
    bool closing_ = false;
    bool stopped_ = false;
    /// Read by any thread before the thread uses the strand.
    std::atomic<bool> context_gone_ = false;
    strand_requests requests_;
    // Requests of other threads that couldn't be posted to the strand, for lack of memory.
    abandoned_leases dropped_;
    abandoned_leases detached_;
    std::atomic<bool> shut_down_ = false;
    bool turn_wanted_ = false;

    mutable std::mutex stats_mutex_;
    redlock::stats published_;
};

}  // namespace redlock::engine
