#pragma once

#include <cassert>
#include <cstddef>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock::engine {

class driver;

/// A function of the driver that is called once. Unlike a `std::function` it allocates no memory.
class strand_request {
public:
    /// May not throw when it is called.
    template <class F>
        requires std::is_invocable_v<F&, driver&>
    explicit strand_request(F f) noexcept : act_(&act_on<F>)
    {
        static_assert(sizeof(F) <= room && alignof(F) <= alignof(std::max_align_t));
        static_assert(std::is_nothrow_move_constructible_v<F>);
        ::new (static_cast<void*>(storage_)) F(std::move(f));
    }
    strand_request(strand_request&& other) noexcept : act_(other.act_)
    {
        act_(deed::move, other.storage_, storage_);
    }
    strand_request& operator=(strand_request&&) = delete;
    ~strand_request() { act_(deed::destroy, storage_, nullptr); }

    void operator()(driver& d) noexcept { act_(deed::call, storage_, &d); }

private:
    enum class deed { call, move, destroy };

    /// The size of the largest request, which is an acquire.
    static constexpr std::size_t room = 320;

    /// `with`: the driver of a call, or the storage to move to.
    template <class F>
    static void act_on(deed what, void* storage, void* with) noexcept
    {
        F& f = *std::launder(static_cast<F*>(storage));
        switch (what) {
            case deed::call: f(*static_cast<driver*>(with)); return;
            case deed::move: ::new (with) F(std::move(f)); return;
            case deed::destroy: f.~F(); return;
        }
    }

    void (*act_)(deed, void*, void*) noexcept;
    alignas(std::max_align_t) std::byte storage_[room];
};

/// The requests of other threads for the strand. One function on the strand runs all that have come
/// by then, since a post for each would take more memory and time than most requests.
class strand_requests {
public:
    /// Adds a request. Calls `post` unless `run` will be called anyway.
    /// @throws what `post` throws, and std::bad_alloc; the request is not added then.
    template <class Post>
    void add(strand_request r, Post post)
    {
        const std::lock_guard guard(mutex_);
        // Room first: the request must stay with the caller, because its destructor may add one.
        if (waiting_.size() == waiting_.capacity()) {
            waiting_.reserve(2 * waiting_.size() + 8);
        }
        if (!is_posted_) {
            post();
            is_posted_ = true;
        }
        waiting_.push_back(std::move(r));
    }

    /// Runs all requests, in their order. Call it on the strand.
    void run(driver& d) noexcept
    {
        assert(running_.empty());
        {
            const std::lock_guard guard(mutex_);
            running_.swap(waiting_);
            is_posted_ = false;
        }
        for (strand_request& r : running_) {
            r(d);
        }
        running_.clear();
    }

    /// Destroys all requests.
    void clear() noexcept
    {
        std::vector<strand_request> cleared;
        const std::lock_guard guard(mutex_);
        cleared.swap(waiting_);
    }

private:
    std::mutex mutex_;
    std::vector<strand_request> waiting_;
    /// Keeps its memory for the next time.
    std::vector<strand_request> running_;
    bool is_posted_ = false;
};

}  // namespace redlock::engine
