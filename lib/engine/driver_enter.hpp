#pragma once

#include "engine/driver.hpp"

#include <boost/asio/post.hpp>

namespace redlock::engine {

/// Runs `f` on the strand, or at once if there is none, because only there the core may be used.
template <class F>
void driver::enter(F f)
{
    if (settings_.thread_safe && !context_gone_) {
        requests_.add(strand_request(std::move(f)), [this] {
            boost::asio::post(executor_,
                              [self = shared_from_this()] { self->requests_.run(*self); });
        });
    } else {
        f(*this);
    }
}

}  // namespace redlock::engine
