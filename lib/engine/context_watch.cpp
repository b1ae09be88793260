#include "engine/context_watch.hpp"

#include "engine/driver.hpp"

#include <utility>

namespace redlock::engine {

boost::asio::execution_context::id context_watch::id;

void context_watch::add(const std::shared_ptr<driver>& d)
{
    const std::lock_guard guard(mutex_);
    drivers_.emplace(d.get(), d);
}

void context_watch::remove(driver& d) noexcept
{
    const std::lock_guard guard(mutex_);
    drivers_.erase(&d);
}

void context_watch::shutdown()
{
    // The loop runs without the mutex: destroying a handler may release the last reference to
    // another driver, whose destructor locks the mutex.
    std::map<driver*, std::weak_ptr<driver>> left;
    {
        const std::lock_guard guard(mutex_);
        left.swap(drivers_);
    }
    for (const auto& [address, weak] : left) {
        if (const auto d = weak.lock()) {
            d->on_context_gone();
        }
    }
}

}  // namespace redlock::engine
