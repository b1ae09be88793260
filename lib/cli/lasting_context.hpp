#pragma once

#include <boost/asio/io_context.hpp>

#include <memory>

namespace redlock::cli {

/**
 * A context for one thread whose destructor never blocks. If the context still has work, it lives
 * until the process ends. Such work may be a name lookup, which can't be cancelled: Asio's
 * destructor would wait for the lookup's thread.
 */
class lasting_context {
public:
    lasting_context();
    ~lasting_context();
    lasting_context(const lasting_context&) = delete;
    lasting_context& operator=(const lasting_context&) = delete;

    [[nodiscard]] boost::asio::io_context& get() noexcept { return *context_; }

    /// Runs until `done` returns true, and then the handlers that are ready.
    template <class Predicate>
    void run_until(Predicate done)
    {
        while (!done() && context_->run_one() != 0) {
        }
        context_->poll();
    }

private:
    std::unique_ptr<boost::asio::io_context> context_;
};

}  // namespace redlock::cli
