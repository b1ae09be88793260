#include <redlock/scope.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <new>

namespace redlock {

using boost::asio::cancellation_type;

lock_scope::lock_scope(executor_type ex, boost::asio::any_completion_handler<void(error_code)> done,
                       boost::asio::cancellation_state cancellation, lock& held) noexcept
    : executor_(std::move(ex)),
      done_(std::move(done)),
      cancellation_(cancellation),
      held_(&held)
{}

lock_scope::lock_scope(lock_scope&&) noexcept = default;

lock_scope& lock_scope::operator=(lock_scope&& other) noexcept
{
    if (this != &other) {
        give_up();
        executor_ = std::move(other.executor_);
        done_ = std::move(other.done_);
        cancellation_ = other.cancellation_;
        held_ = other.held_;
    }
    return *this;
}

lock_scope::~lock_scope()
{
    give_up();
}

boost::asio::cancellation_slot lock_scope::slot() const noexcept
{
    return done_ ? boost::asio::get_associated_cancellation_slot(done_)
                 : boost::asio::cancellation_slot();
}

bool lock_scope::stopped() const noexcept
{
    return done_ && cancellation_.cancelled() != cancellation_type::none;
}

void lock_scope::done(error_code ec)
{
    if (!done_) {
        return;
    }
    boost::asio::post(executor_, [h = std::move(done_), ec]() mutable { std::move(h)(ec); });
}

void lock_scope::give_up() noexcept
{
    try {
        done(boost::asio::error::operation_aborted);
    } catch (const std::bad_alloc&) {
        done_ = nullptr;  // destroys everything uncalled, and the lock is dropped
    }
}

namespace detail {

void scope_ending::require_completed() const
{
    if (status == with_lock_status::failed) {
        std::rethrow_exception(failure);
    }
    if (status != with_lock_status::completed) {
        throw boost::system::system_error(error, to_string(status));
    }
}

}  // namespace detail
}  // namespace redlock
