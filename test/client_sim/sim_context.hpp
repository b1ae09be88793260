#pragma once

#include "client_sim/clockwork.hpp"

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace redlock::test {

namespace asio = boost::asio;

class sim_executor;

/// How a context behaves, within Asio's promises.
struct habits {
    /// The next handler is any that is ready and not the oldest, as with several threads.
    bool any_order = false;
    /// A handler that could run at once may be queued, since `blocking.possibly` promises neither.
    bool may_queue = false;
    /// An exception of a handler leaves the loop only at the end of the outer handler, as in
    /// io_context.
    bool keeps_exceptions = false;
    /// Pending operations are destroyed before the services that were made first are shut down.
    bool io_goes_first = false;
};

/// An execution context whose every step the clockwork chooses. Single-threaded.
class sim_context : public asio::execution_context {
public:
    using executor_type = sim_executor;

    sim_context(clockwork& c, unsigned number, habits h) : clock_(c), number_(number), habits_(h) {}
    ~sim_context();

    [[nodiscard]] sim_executor get_executor() noexcept;
    [[nodiscard]] clockwork& clock() const noexcept { return clock_; }
    [[nodiscard]] bool running() const noexcept { return clock_.running == this; }

    [[nodiscard]] bool is_ready() const noexcept { return !ready_.empty() || !thrown_.empty(); }
    /// Runs one handler. Its exception propagates.
    void step();
    /// The count of an io_context: at zero it runs out of work.
    [[nodiscard]] std::size_t outstanding() const noexcept
    {
        return ready_.size() + pending_.size() + tracked_;
    }

    /// An operation on a stream or a timer. Exactly one of its functions is called and frees it.
    class operation {
    public:
        virtual void complete(boost::system::error_code ec, std::size_t n) = 0;
        virtual void destroy() noexcept = 0;

    protected:
        ~operation() = default;
    };

    /// Begins a pending operation with memory from its handler's allocator.
    template <class Executor, class Handler>
    std::uint64_t begin(const Executor& ex, Handler&& h);
    /// Makes the handler ready. No effect if it was ready before or was destroyed.
    void complete(std::uint64_t which, boost::system::error_code ec, std::size_t n = 0);

    /// Expires with the context.
    [[nodiscard]] std::weak_ptr<const void> alive() const noexcept { return alive_; }

private:
    friend class sim_executor;
    template <class Executor, class Handler>
    class pending_operation;

    struct job {
        virtual ~job() = default;
        virtual void run() = 0;
        std::uint64_t serial = 0;
    };
    template <class F>
    struct job_of final : job {
        explicit job_of(F&& f) : what(std::move(f)) {}
        void run() override
        {
            F f(std::move(what));
            f();
        }
        F what;
    };
    struct completed_operation;

    void push(std::unique_ptr<job> j);
    void throw_one();
    template <class F>
    void execute(F f, bool may_run_now);
    void destroy_pending() noexcept;

    clockwork& clock_;
    const unsigned number_;
    const habits habits_;
    std::uint64_t serials_ = 0;
    std::deque<std::unique_ptr<job>> ready_;
    std::map<std::uint64_t, operation*> pending_;
    std::size_t tracked_ = 0;
    std::vector<std::exception_ptr> thrown_;
    std::shared_ptr<int> alive_ = std::make_shared<int>();
};

/// Has every property that `any_io_executor` asks for.
class sim_executor {
public:
    explicit sim_executor(sim_context& c) noexcept : context_(&c) {}
    sim_executor(const sim_executor& o) noexcept
        : context_(o.context_),
          never_(o.never_),
          continuation_(o.continuation_),
          tracked_(o.tracked_)
    {
        count();
    }
    /// The work moves along, and Asio forgets the old object.
    sim_executor(sim_executor&& o) noexcept
        : context_(o.context_),
          never_(o.never_),
          continuation_(o.continuation_),
          tracked_(std::exchange(o.tracked_, false))
    {}
    sim_executor& operator=(sim_executor o) noexcept
    {
        std::swap(context_, o.context_);
        std::swap(never_, o.never_);
        std::swap(continuation_, o.continuation_);
        std::swap(tracked_, o.tracked_);
        return *this;
    }
    ~sim_executor()
    {
        if (tracked_) {
            --context_->tracked_;
        }
    }

    [[nodiscard]] bool operator==(const sim_executor& o) const noexcept = default;

    [[nodiscard]] sim_context& query(asio::execution::context_t) const noexcept
    {
        return *context_;
    }
    [[nodiscard]] asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept
    {
        return never_ ? asio::execution::blocking_t(asio::execution::blocking.never)
                      : asio::execution::blocking_t(asio::execution::blocking.possibly);
    }
    [[nodiscard]] asio::execution::relationship_t query(
        asio::execution::relationship_t) const noexcept
    {
        return continuation_
                   ? asio::execution::relationship_t(asio::execution::relationship.continuation)
                   : asio::execution::relationship_t(asio::execution::relationship.fork);
    }
    [[nodiscard]] asio::execution::outstanding_work_t query(
        asio::execution::outstanding_work_t) const noexcept
    {
        return tracked_
                   ? asio::execution::outstanding_work_t(asio::execution::outstanding_work.tracked)
                   : asio::execution::outstanding_work_t(
                         asio::execution::outstanding_work.untracked);
    }

    [[nodiscard]] sim_executor require(asio::execution::blocking_t::never_t) const noexcept
    {
        return {*this, true, continuation_, tracked_};
    }
    [[nodiscard]] sim_executor require(asio::execution::blocking_t::possibly_t) const noexcept
    {
        return {*this, false, continuation_, tracked_};
    }
    [[nodiscard]] sim_executor require(
        asio::execution::relationship_t::continuation_t) const noexcept
    {
        return {*this, never_, true, tracked_};
    }
    [[nodiscard]] sim_executor require(asio::execution::relationship_t::fork_t) const noexcept
    {
        return {*this, never_, false, tracked_};
    }
    [[nodiscard]] sim_executor require(
        asio::execution::outstanding_work_t::tracked_t) const noexcept
    {
        return {*this, never_, continuation_, true};
    }
    [[nodiscard]] sim_executor require(
        asio::execution::outstanding_work_t::untracked_t) const noexcept
    {
        return {*this, never_, continuation_, false};
    }

    template <class F>
    void execute(F&& f) const
    {
        context_->execute(std::decay_t<F>(std::forward<F>(f)), !never_);
    }

private:
    sim_executor(const sim_executor& o, bool never, bool continuation, bool tracked) noexcept
        : context_(o.context_),
          never_(never),
          continuation_(continuation),
          tracked_(tracked)
    {
        count();
    }

    void count() noexcept
    {
        if (tracked_) {
            ++context_->tracked_;
        }
    }

    sim_context* context_;
    bool never_ = false;
    bool continuation_ = false;
    bool tracked_ = false;
};

inline sim_executor sim_context::get_executor() noexcept
{
    return sim_executor(*this);
}

template <class F>
void sim_context::execute(F f, bool may_run_now)
{
    if (!may_run_now || !running() || (habits_.may_queue && clock_.one_in(8))) {
        push(std::make_unique<job_of<F>>(std::move(f)));
        return;
    }
    if (!habits_.keeps_exceptions) {
        f();
        return;
    }
    try {
        f();
    } catch (...) {
        thrown_.push_back(std::current_exception());
    }
}

/// Like Asio's own operations: the handler's executor has work until the handler was called, and
/// the memory is free before that.
template <class Executor, class Handler>
class sim_context::pending_operation final : public operation {
public:
    static operation* make(const Executor& ex, Handler&& h)
    {
        allocator_type alloc{asio::get_associated_allocator(h)};
        pending_operation* memory = traits::allocate(alloc, 1);
        return ::new (static_cast<void*>(memory)) pending_operation(ex, std::move(h));
    }

    void complete(boost::system::error_code ec, std::size_t n) override
    {
        Handler h(std::move(handler_));
        work_type work(std::move(work_));
        free(h);
        const auto alloc = asio::get_associated_allocator(h);
        asio::dispatch(
            work.get_executor(),
            asio::bind_allocator(alloc, [h = std::move(h), ec, n]() mutable { h(ec, n); }));
    }

    void destroy() noexcept override
    {
        Handler h(std::move(handler_));
        free(h);
    }

private:
    using allocator_type = typename std::allocator_traits<
        asio::associated_allocator_t<Handler>>::template rebind_alloc<pending_operation>;
    using traits = std::allocator_traits<allocator_type>;
    using work_type = asio::executor_work_guard<asio::associated_executor_t<Handler, Executor>>;

    pending_operation(const Executor& ex, Handler&& h)
        : handler_(std::move(h)),
          work_(asio::get_associated_executor(handler_, ex))
    {}
    ~pending_operation() = default;

    void free(const Handler& moved_to) noexcept
    {
        allocator_type alloc{asio::get_associated_allocator(moved_to)};
        this->~pending_operation();
        traits::deallocate(alloc, this, 1);
    }

    Handler handler_;
    work_type work_;
};

template <class Executor, class Handler>
std::uint64_t sim_context::begin(const Executor& ex, Handler&& h)
{
    using handler_type = std::decay_t<Handler>;
    handler_type handler(std::forward<Handler>(h));
    pending_.emplace(++serials_,
                     pending_operation<Executor, handler_type>::make(ex, std::move(handler)));
    return serials_;
}

}  // namespace redlock::test
