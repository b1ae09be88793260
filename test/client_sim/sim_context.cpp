#include "client_sim/sim_context.hpp"

namespace redlock::test {

/// An operation in the queue that nothing can cancel any more.
struct sim_context::completed_operation final : job {
    completed_operation(operation* o, boost::system::error_code e, std::size_t count)
        : op(o),
          ec(e),
          n(count)
    {}
    ~completed_operation() override
    {
        if (op != nullptr) {
            op->destroy();
        }
    }
    void run() override { std::exchange(op, nullptr)->complete(ec, n); }

    operation* op;
    boost::system::error_code ec;
    std::size_t n;
};

sim_context::~sim_context()
{
    if (habits_.io_goes_first) {
        destroy_pending();
    }
    shutdown();
    destroy_pending();
    // Handlers that a destroyed handler posts are destroyed as well.
    while (!ready_.empty()) {
        const auto jobs = std::exchange(ready_, {});
    }
    destroy();
    if (tracked_ != 0) {
        clock_.note("work left", number_, tracked_);
        clock_.fail("an executor counts as work of a context that is gone");
    }
}

void sim_context::destroy_pending() noexcept
{
    while (!pending_.empty()) {
        operation* const op = pending_.begin()->second;
        pending_.erase(pending_.begin());
        op->destroy();
    }
}

void sim_context::push(std::unique_ptr<job> j)
{
    j->serial = ++serials_;
    ready_.push_back(std::move(j));
}

void sim_context::complete(std::uint64_t which, boost::system::error_code ec, std::size_t n)
{
    if (const auto found = pending_.extract(which)) {
        push(std::make_unique<completed_operation>(found.mapped(), ec, n));
    }
}

void sim_context::throw_one()
{
    if (!thrown_.empty()) {
        const std::exception_ptr first = thrown_.front();
        thrown_.erase(thrown_.begin());
        std::rethrow_exception(first);
    }
}

void sim_context::step()
{
    throw_one();
    const std::size_t which =
        habits_.any_order ? clock_.below(static_cast<std::uint32_t>(ready_.size())) : 0;
    const auto at = ready_.begin() + static_cast<std::ptrdiff_t>(which);
    const std::unique_ptr<job> next = std::move(*at);
    ready_.erase(at);
    clock_.note("handler", number_, next->serial);
    struct as_running {
        clockwork& c;
        ~as_running() { c.running = nullptr; }
    } guard{clock_};
    clock_.running = this;
    next->run();
    throw_one();
}

}  // namespace redlock::test
