#pragma once

#include <redlock/detail/completion.hpp>
#include <redlock/lock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/require.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace redlock::detail {

/// Executor that counts as work of its context while this object lives.
template <class Executor>
class executor_at_work {
public:
    explicit executor_at_work(const Executor& ex)
        : executor_(ex),
          work_(boost::asio::prefer(ex, boost::asio::execution::outstanding_work.tracked))
    {}

    /// Returns the executor without counting further work.
    [[nodiscard]] const Executor& get_executor() const noexcept { return executor_; }

private:
    Executor executor_;
    std::decay_t<decltype(boost::asio::prefer(std::declval<const Executor&>(),
                                              boost::asio::execution::outstanding_work.tracked))>
        work_;
};

/// Whether an executor has only the interface of the Networking TS. Executors with the present
/// interface can have the old one too, strands in particular.
template <class Executor>
inline constexpr bool is_of_networking_ts = !boost::asio::execution::is_executor<Executor>::value;

template <class Executor>
using work_of =
    std::conditional_t<is_of_networking_ts<Executor>, boost::asio::executor_work_guard<Executor>,
                       executor_at_work<Executor>>;

/**
 * Handler in a block of memory from its own allocator. The library touches the handler twice, to
 * box it and to complete it: everything in between works on the erased `completion`. `Unpack` calls
 * the handler with its part of the outcome.
 */
template <class Handler, class Unpack>
class boxed_handler final : public completion {
public:
    using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

    [[nodiscard]] static completion* make(Handler&& h, const boost::asio::any_io_executor& client,
                                          hop hops)
    {
        allocator_type alloc{allocator_of(h)};
        boxed_handler* memory = traits::allocate(alloc, 1);
        try {
            return ::new (static_cast<void*>(memory)) boxed_handler(std::move(h), client, hops);
        } catch (...) {
            traits::deallocate(alloc, memory, 1);
            throw;
        }
    }

    void complete(outcome&& what) override
    {
        if constexpr (may_be_direct) {
            if (!work_) {
                deliver(std::move(what));
            } else if constexpr (has_default_memory) {
                deliver_on(std::move(work_), hops_, *this, std::move(what));
            } else {
                hand_over(std::move(what));
            }
        } else {
            hand_over(std::move(what));
        }
    }

    void deliver(outcome&& what) override
    {
        Handler h(std::move(handler_));
        // The next operation, begun from within the handler, may then use this memory.
        free(h);
        call(h, what);
    }

    void abandon() noexcept override
    {
        // The slot is left alone, because its signal may be gone already.
        Handler h(std::move(handler_));
        free(h);
    }

private:
    // A handler without an allocator of its own gets Asio's, which reuses a thread's blocks.
    using default_allocator = boost::asio::recycling_allocator<void>;
    using allocator_type = typename std::allocator_traits<boost::asio::associated_allocator_t<
        Handler, default_allocator>>::template rebind_alloc<boxed_handler>;
    using traits = std::allocator_traits<allocator_type>;

    // The client calls only handlers of its own executor directly. These need no work of their own,
    // and `work_` is then an empty executor.
    static constexpr bool may_be_direct =
        std::is_same_v<executor_type, boost::asio::any_io_executor>;
    static constexpr bool has_default_memory =
        std::is_same_v<boost::asio::associated_allocator_t<Handler>, std::allocator<void>>;
    using work_type =
        std::conditional_t<may_be_direct, boost::asio::any_io_executor, work_of<executor_type>>;

    // Asio's any_completion_executor, for one, has no way to post: it runs a handler at once where
    // it can. Such a handler leaves the client's strand through the client's own executor.
    static constexpr bool can_be_posted_to =
        boost::asio::can_require_v<executor_type, boost::asio::execution::blocking_t::never_t> ||
        is_of_networking_ts<executor_type>;
    struct no_way_out {
        explicit no_way_out(const boost::asio::any_io_executor&) noexcept {}
    };
    using way_out_type =
        std::conditional_t<can_be_posted_to, no_way_out, boost::asio::any_io_executor>;

    boxed_handler(Handler&& h, const boost::asio::any_io_executor& client, hop hops)
        : handler_(std::move(h)),
          hops_(hops),
          work_(work_for(boost::asio::get_associated_executor(handler_, client), client, hops_)),
          way_out_(client)
    {}

    [[nodiscard]] static work_type work_for(const executor_type& ex,
                                            const boost::asio::any_io_executor& client, hop& hops)
    {
        if constexpr (may_be_direct) {
            return work_for_handler(ex, client, hops);
        } else {
            return work_type(ex);
        }
    }

    ~boxed_handler() = default;

    /// Returns the executor without counting work, because the handler's context may be gone as
    /// soon as the handler was called.
    [[nodiscard]] static executor_type executor_of(const work_type& work)
    {
        if constexpr (may_be_direct) {
            return boost::asio::prefer(work, boost::asio::execution::outstanding_work.untracked);
        } else {
            return work.get_executor();
        }
    }

    [[nodiscard]] static auto allocator_of(const Handler& h) noexcept
    {
        return boost::asio::get_associated_allocator(h, default_allocator{});
    }

    /// Passes the handler on in memory from the handler's own allocator.
    void hand_over(outcome&& what)
    {
        const hop hops = hops_;
        const way_out_type way_out(std::move(way_out_));
        Handler h(std::move(handler_));
        work_type work(std::move(work_));
        free(h);
        const executor_type ex = executor_of(work);
        const auto alloc = boost::asio::get_associated_allocator(h);
        auto called = [h = std::move(h), what = std::move(what)]() mutable { call(h, what); };
        if (hops == hop::none) {
            boost::asio::dispatch(ex, boost::asio::bind_allocator(alloc, std::move(called)));
        } else if constexpr (can_be_posted_to) {
            boost::asio::post(ex, boost::asio::bind_allocator(alloc, std::move(called)));
        } else {
            // The work goes along, so that the handler's context does not run out of it on the way.
            auto there = boost::asio::bind_allocator(
                alloc,
                [work = std::move(work), called = std::move(called)]() mutable { called(); });
            boost::asio::post(way_out, boost::asio::bind_allocator(
                                           alloc, [ex, there = std::move(there)]() mutable {
                                               boost::asio::dispatch(ex, std::move(there));
                                           }));
        }
    }

    /// Calls the handler, on its own executor. The cancellation slot belongs to that executor too,
    /// and the next operation may use the slot.
    static void call(Handler& h, outcome& what)
    {
        boost::asio::get_associated_cancellation_slot(h).clear();
        Unpack{}(std::move(h), std::move(what));
    }

    void free(const Handler& moved_to) noexcept
    {
        allocator_type alloc{allocator_of(moved_to)};
        this->~boxed_handler();
        traits::deallocate(alloc, this, 1);
    }

    Handler handler_;
    hop hops_;
    work_type work_;
    [[no_unique_address]] way_out_type way_out_;
};

struct unpack_none {
    template <class Handler>
    void operator()(Handler&& h, outcome&&) const
    {
        std::forward<Handler>(h)();
    }
};
struct unpack_nothing {
    template <class Handler>
    void operator()(Handler&& h, outcome&& o) const
    {
        std::forward<Handler>(h)(o.error);
    }
};
struct unpack_lock {
    template <class Handler>
    void operator()(Handler&& h, outcome&& o) const
    {
        std::forward<Handler>(h)(o.error, lock(std::move(o.held)));
    }
};
struct unpack_release {
    template <class Handler>
    void operator()(Handler&& h, outcome&& o) const
    {
        std::forward<Handler>(h)(o.error, o.released);
    }
};
struct unpack_inspection {
    template <class Handler>
    void operator()(Handler&& h, outcome&& o) const
    {
        std::forward<Handler>(h)(o.error, o.inspection);
    }
};

}  // namespace redlock::detail
