#pragma once

#include <boost/asio/io_context.hpp>

#include <memory>

namespace redlock::cli {

/**
 * A context for one thread, that is never waited for. One that has work left when it goes stays
 * until the process ends: a name may be looked up, which nobody can call off, and Asio's destructor
 * waits for the thread that does it.
 */
class lasting_context {
public:
    lasting_context();
    ~lasting_context();
    lasting_context(const lasting_context&) = delete;
    lasting_context& operator=(const lasting_context&) = delete;

    [[nodiscard]] boost::asio::io_context& get() noexcept { return *context_; }

    /// Runs until `done` says yes, and what is ready then.
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
