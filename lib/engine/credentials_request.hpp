#pragma once

#include <redlock/config.hpp>

#include "base/login.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::engine {

class credentials_request;

/// Receives the reply to a request, on the client's executor.
class credentials_events {
public:
    virtual void on_credentials(credentials_request& answered) = 0;

protected:
    credentials_events() = default;
    ~credentials_events() = default;
};

/**
 * One call of the user's provider, and the way of its reply to the client's executor, from whatever
 * thread.
 *
 * The user's reply keeps the request alive, and nothing else: neither the client nor, after
 * `close`, its executor.
 */
class credentials_request : public std::enable_shared_from_this<credentials_request> {
public:
    credentials_request(boost::asio::any_io_executor executor,
                        std::weak_ptr<credentials_events> events, unsigned node)
        : executor_(std::move(executor)),
          events_(std::move(events)),
          node_(node)
    {}
    credentials_request(const credentials_request&) = delete;
    credentials_request& operator=(const credentials_request&) = delete;

    /// Calls the provider. What it throws is a reply too.
    void ask(const credentials_provider& provider, std::string_view url);
    /// From now on a reply does nothing, and this object keeps no executor. A reply that was posted
    /// before still comes.
    void close() noexcept;

    [[nodiscard]] unsigned node() const noexcept { return node_; }
    // During on_credentials.
    /// Why there are no credentials; empty: `given` has them.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    [[nodiscard]] const base::login& given() const noexcept { return given_; }

private:
    template <class What>
    void settle(What what) noexcept;
    void fail(std::string_view why, std::string_view password);
    void keep(const credentials& from);
    void post();
    void forget() noexcept;

    std::mutex mutex_;
    /// Empty once there was a reply, or none is wanted any more.
    boost::asio::any_io_executor executor_;
    const std::weak_ptr<credentials_events> events_;
    const unsigned node_;
    std::string failure_;
    base::login given_;
};

}  // namespace redlock::engine
