#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>
#include <thread>
#include <type_traits>
#include <utility>

namespace redlock::test {

/// An io_context with a thread of its own. Both end together.
class background {
public:
    background() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}

    ~background()
    {
        context_.stop();
        thread_.join();
    }

    background(const background&) = delete;
    background& operator=(const background&) = delete;

    [[nodiscard]] boost::asio::io_context::executor_type executor() noexcept
    {
        return context_.get_executor();
    }

    /// Calls `function` in the thread and returns its result, or throws its exception. Don't call
    /// it from the thread itself.
    template <class Function>
    std::invoke_result_t<Function> call(Function function)
    {
        std::packaged_task<std::invoke_result_t<Function>()> task(std::move(function));
        auto result = task.get_future();
        boost::asio::post(context_, std::move(task));
        return result.get();
    }

private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::thread thread_;
};

}  // namespace redlock::test
