#pragma once

#include <redlock/detail/completion.hpp>

#include "engine/completion_queue.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::engine {

/// A completion on its way to the handler's executor, which may destroy the completion instead of
/// calling it. The work guard travels along until the handler has returned.
class delivery {
public:
    delivery(boost::asio::any_io_executor&& work, detail::completion& c,
             detail::outcome&& what) noexcept
        : work_(std::move(work)),
          to_(&c),
          what_(std::move(what))
    {}

    [[nodiscard]] const boost::asio::any_io_executor& work() const noexcept { return work_; }

    void operator()() { to_.release()->deliver(std::move(what_)); }

private:
    boost::asio::any_io_executor work_;
    completion_ptr to_;
    detail::outcome what_;
};

/// The handlers of one turn that run on the user's executor. A single function there calls them one
/// after the other, since a post for each would take more memory and time than most handlers.
///
/// A handler may block, and others of the turn may be what it waits for. So before the function
/// calls one, it posts itself again: another thread of the executor then calls the rest.
class deliveries {
public:
    /// @throws std::bad_alloc
    void add(delivery d)
    {
        if (!batch_) {
            batch_ = unused();
        }
        batch_->all.push_back(std::move(d));
    }
    /// Takes the handlers to the executor.
    /// @throws std::bad_alloc; the handlers are destroyed then.
    void send(const boost::asio::any_io_executor& ex)
    {
        if (batch_) {
            boost::asio::post(ex, caller{std::exchange(batch_, nullptr), ex});
        }
    }
    /// The executor calls nothing any more: destroys the handlers, sent or not.
    void clear() noexcept
    {
        batch_.reset();
        kept_ = {};
    }

private:
    struct batch {
        std::mutex mutex{};
        std::vector<delivery> all{};
        std::size_t next = 0;
        /// A further caller is on its way.
        bool has_another = false;
    };
    struct caller {
        std::shared_ptr<batch> of;
        boost::asio::any_io_executor on;

        void operator()()
        {
            {
                const std::lock_guard guard(of->mutex);
                of->has_another = false;
            }
            while (std::optional<delivery> d = take_next()) {
                (*d)();
            }
        }
        [[nodiscard]] std::optional<delivery> take_next()
        {
            const std::lock_guard guard(of->mutex);
            if (of->next == of->all.size()) {
                return std::nullopt;
            }
            if (of->next + 1 < of->all.size() && !of->has_another) {
                boost::asio::post(on, caller{*this});
                of->has_another = true;
            }
            return std::move(of->all[of->next++]);
        }
    };

    [[nodiscard]] std::shared_ptr<batch> unused()
    {
        for (std::shared_ptr<batch>& b : kept_) {
            if (!b) {
                b = std::make_shared<batch>();
            }
            if (b.use_count() == 1) {
                // The last function with this batch has unlocked the mutex.
                const std::lock_guard guard(b->mutex);
                b->all.clear();
                b->next = 0;
                return b;
            }
        }
        return std::make_shared<batch>();
    }

    std::shared_ptr<batch> batch_;
    /// Batches whose memory serves again after their handlers were called.
    std::array<std::shared_ptr<batch>, 2> kept_;
};

}  // namespace redlock::engine
