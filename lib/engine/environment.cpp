#include "engine/environment.hpp"

#include <redlock/clock.hpp>

#include "base/system_entropy.hpp"
#include "engine/handler_memory.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace redlock::engine {

namespace {

/// An alarm with two timers that take turns: the previous timer stays set until the next one is
/// set. Each timer has its own memory for its handler. So if there is no memory to set the alarm,
/// the previous timer can still fire.
class steady_alarm final : public alarm {
public:
    explicit steady_alarm(const boost::asio::any_io_executor& ex)
        : timers_{one_timer(ex), one_timer(ex)}
    {}

    void set(base::nanos after, std::shared_ptr<alarm_events> whom) override
    {
        one_timer& next = timers_[1 - latest_];
        try {
            next.timer.expires_after(after);
            next.wait->rings_early = false;
            next.timer.async_wait(boost::asio::bind_allocator(
                handler_allocator<std::byte>(next.wait->memory),
                [whom = std::move(whom), me = next.wait](boost::system::error_code ec) {
                    if (!ec || me->rings_early) {
                        whom->on_alarm();
                    }
                }));
        } catch (const std::bad_alloc&) {
            if (after < left()) {
                timers_[latest_].wait->rings_early = true;
                timers_[latest_].timer.cancel();
            }
            throw;
        }
        cancel();
        latest_ = 1 - latest_;
    }

    void cancel() noexcept override
    {
        timers_[latest_].wait->rings_early = false;
        timers_[latest_].timer.cancel();
    }

    [[nodiscard]] base::nanos left() const noexcept override
    {
        return timers_[latest_].timer.expiry() - std::chrono::steady_clock::now();
    }

private:
    struct waiting {
        handler_memory memory;
        bool rings_early = false;
    };
    struct one_timer {
        explicit one_timer(const boost::asio::any_io_executor& ex) : timer(ex) {}

        boost::asio::steady_timer timer;
        /// Shared with the timer's handler.
        std::shared_ptr<waiting> wait = std::make_shared<waiting>();
    };

    std::array<one_timer, 2> timers_;
    /// The timer that was set last.
    std::size_t latest_ = 0;
};

class system_wall_clock final : public base::wall_clock {
public:
    std::int64_t microseconds() noexcept override
    {
        const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
    }
};

class system_environment final : public environment {
public:
    base::instant now() noexcept override
    {
        return base::instant{boot_clock::now().time_since_epoch()};
    }

    base::entropy& entropy() noexcept override { return entropy_; }
    base::wall_clock& wall_clock() noexcept override { return wall_clock_; }

    std::unique_ptr<alarm> make_alarm(const boost::asio::any_io_executor& ex) override
    {
        return std::make_unique<steady_alarm>(ex);
    }

    std::shared_ptr<link> make_link(const link_setup& setup,
                                    const std::shared_ptr<tls_context>& tls) override
    {
        switch (setup.address->via) {
            case base::address::transport::tcp: return make_tcp_link(setup);
            case base::address::transport::tls: return make_tls_link(setup, tls);
            case base::address::transport::unix_socket: return make_unix_link(setup);
        }
        return nullptr;
    }

private:
    base::system_entropy entropy_;
    system_wall_clock wall_clock_;
};

}  // namespace

std::shared_ptr<environment> make_system_environment()
{
    return std::make_shared<system_environment>();
}

boost::asio::execution_context::id environment_service::id;

environment_service::environment_service(boost::asio::execution_context& context)
    : environment_service(context, make_system_environment())
{}

environment_service::environment_service(boost::asio::execution_context& context,
                                         std::shared_ptr<environment> w)
    : service(context),
      environment_(std::move(w))
{}

}  // namespace redlock::engine
