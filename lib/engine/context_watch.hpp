#pragma once

#include <boost/asio/execution_context.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace redlock::engine {

class driver;

/**
 * Notifies the drivers of an execution context when the context is about to be destroyed. The
 * sockets can still be destroyed properly at that point. Therefore a lock or a client may outlive
 * its context.
 */
class context_watch : public boost::asio::execution_context::service {
public:
    using key_type = context_watch;
    static boost::asio::execution_context::id id;

    explicit context_watch(boost::asio::execution_context& context) : service(context) {}

    void add(const std::shared_ptr<driver>& d);
    void remove(driver& d) noexcept;

private:
    void shutdown() override;

    std::mutex mutex_;
    std::map<driver*, std::weak_ptr<driver>> drivers_;
};

}  // namespace redlock::engine
