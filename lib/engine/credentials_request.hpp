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

/// Receives the reply to a request. Called on the client's executor.
class credentials_events {
public:
    virtual void on_credentials(credentials_request& answered) = 0;

protected:
    credentials_events() = default;
    ~credentials_events() = default;
};

/**
 * One call of the user's credentials provider. Brings the provider's reply from any thread to the
 * client's executor.
 *
 * The provider's callback keeps this object alive, but not the client, and after `close` not the
 * client's executor either.
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

    /// Calls the provider. An exception from the provider counts as a reply.
    void ask(const credentials_provider& provider, std::string_view url);
    /// Makes later replies do nothing and drops the executor. A reply that is already posted still
    /// arrives.
    void close() noexcept;

    [[nodiscard]] unsigned node() const noexcept { return node_; }
    // Valid only inside on_credentials.
    /// Why there are no credentials. If empty, `given` has them.
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
    /// Empty after the first reply or after `close`.
    boost::asio::any_io_executor executor_;
    const std::weak_ptr<credentials_events> events_;
    const unsigned node_;
    std::string failure_;
    base::login given_;
};

}  // namespace redlock::engine
