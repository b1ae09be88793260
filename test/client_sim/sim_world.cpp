#include "client_sim/sim_world.hpp"

#include "engine/tls_link.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::test {

namespace {

/// Like a steady_timer: a wait that has ended completes, whatever happens then.
class sim_alarm final : public engine::alarm {
public:
    sim_alarm(clockwork& c, boost::asio::any_io_executor ex, unsigned& settings)
        : clock_(c),
          settings_(settings),
          executor_(std::move(ex)),
          context_(static_cast<sim_context&>(
              boost::asio::query(executor_, boost::asio::execution::context)))
    {}
    ~sim_alarm() override { cancel(); }

    void set(base::nanos after, std::shared_ptr<engine::alarm_events> whom) override
    {
        cancel();
        ++settings_;
        waiting_ = context_.begin(
            executor_, [whom = std::move(whom)](boost::system::error_code ec, std::size_t) {
                if (!ec) {
                    whom->on_alarm();
                }
            });
        event_ = clock_.at(after, [&c = context_, alive = context_.alive(), id = waiting_] {
            if (!alive.expired()) {
                c.complete(id, {});
            }
        });
    }

    void cancel() noexcept override
    {
        if (waiting_ != 0) {
            clock_.forget(event_);
            context_.complete(std::exchange(waiting_, 0), boost::asio::error::operation_aborted);
        }
    }

    [[nodiscard]] base::nanos left() const noexcept override { return clock_.until(event_); }

private:
    clockwork& clock_;
    unsigned& settings_;
    boost::asio::any_io_executor executor_;
    sim_context& context_;
    clockwork::event_id event_;
    std::uint64_t waiting_ = 0;
};

/// The link that ships, on a stream of the test's own.
class sim_link final : public engine::stream_link<sim_link> {
public:
    sim_link(const engine::link_setup& s, sim_node& n) : stream_link(s), stream_(s.executor, n) {}

    void start() override
    {
        stream_.async_connect([me = shared_from_this()](boost::system::error_code ec, std::size_t) {
            if (me->is_closed()) {
                return;
            }
            if (ec) {
                me->down(ec.message());
            } else {
                me->up();
            }
        });
    }

    [[nodiscard]] sim_stream& stream() noexcept { return stream_; }
    [[nodiscard]] sim_stream& lowest() noexcept { return stream_; }
    void stop_connecting() noexcept {}

private:
    sim_stream stream_;
};

struct sim_connector {
    template <class Done>
    void connect(sim_stream& s, const base::address&,
                 const std::shared_ptr<engine::known_addresses>&, Done done)
    {
        s.async_connect([done = std::move(done)](boost::system::error_code ec,
                                                 std::size_t) mutable { done(ec); });
    }
    void cancel() noexcept {}
};

/// The same with TLS. Asio's TLS stream has timers of its own, which start a thread of the context.
/// The thread sleeps, since those timers matter only if a read must write or a write must read.
using sim_tls_link = engine::tls_link<sim_stream, sim_connector>;

}  // namespace

bool sim_world::seeded::fill(std::span<std::byte> out) noexcept
{
    ++total.times;
    total.bytes += out.size();
    if (fails != 0 && clock_.one_in(fails)) {
        return false;
    }
    std::ranges::generate(out, [this] { return static_cast<std::byte>(clock_.below(256)); });
    return true;
}

std::unique_ptr<engine::alarm> sim_world::make_alarm(const boost::asio::any_io_executor& ex)
{
    ++alarms;
    return std::make_unique<sim_alarm>(clock_, ex, alarm_settings);
}

std::shared_ptr<engine::link> sim_world::make_link(const engine::link_setup& setup,
                                                   const std::shared_ptr<engine::tls_context>& tls)
{
    sim_node& n = nodes_[setup.node];
    if (setup.address->via == base::address::transport::tls) {
        return std::make_shared<sim_tls_link>(setup, tls, sim_stream(setup.executor, n),
                                              sim_connector());
    }
    return std::make_shared<sim_link>(setup, n);
}

}  // namespace redlock::test
