#pragma once

#include "engine/driver.hpp"

#include <boost/asio/dispatch.hpp>

namespace redlock::engine {

/// Runs `f` on the strand, or at once if there is none, because only there the core may be used.
template <class F>
void driver::enter(F f)
{
    if (settings_.thread_safe && !context_gone_) {
        boost::asio::dispatch(
            executor_, [self = shared_from_this(), f = std::move(f)]() mutable { f(*self); });
    } else {
        f(*this);
    }
}

}  // namespace redlock::engine
