#pragma once

#include "support/run.hpp"
#include "support/server.hpp"

#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/report.hpp>
#include <redlock/result.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

struct taken {
    error_code error;
    redlock::lock lock;
};

struct released {
    error_code error;
    release_result result = release_result::released;
};

struct inspected {
    error_code error;
    inspection found;
};

/// The result of an operation that has begun; empty until the operation has completed.
template <class T>
using pending = std::shared_ptr<std::optional<T>>;

/// A configuration for tests that wait for no node. No node of a busy machine is late within 15 s,
/// the longest node timeout that a ttl of a minute allows.
[[nodiscard]] config patient(std::vector<std::string> nodes);

/// A configuration for tests that do wait: the client treats a node as silent after
/// `brief_timeout`, and closes the connection later.
[[nodiscard]] config brisk(std::vector<std::string> nodes,
                           std::chrono::milliseconds stall_timeout = brief_timeout * 3 / 2);

/// Options of an acquire that continues until it has its lock. The lock does not end while the test
/// runs.
[[nodiscard]] acquire_options lasting();

/// The ttl for an extend of a lock that was taken with `lasting`. With a shorter ttl a node leaves
/// the key unchanged.
inline constexpr std::chrono::milliseconds longer_ttl = 2 * never;

/// One attempt that does not wait for anything.
[[nodiscard]] acquire_options once(report* told = nullptr);

/**
 * A running client with an io_context of its own, as blocking calls.
 *
 * The context runs in the calling thread, and only inside these calls. Operations must end within
 * `patience`, or the call throws. The destructor checks that the client leaves no work in its
 * context. No log line and no report may hold a secret: the passwords of the nodes' URLs, owner
 * tokens that the test saw, and texts that it passes to `keep_secret`.
 */
class locks {
public:
    explicit locks(config c);
    explicit locks(std::vector<std::string> nodes) : locks(patient(std::move(nodes))) {}
    ~locks();
    locks(const locks&) = delete;
    locks& operator=(const locks&) = delete;

    taken acquire(std::string_view resource, acquire_options options = lasting());
    taken acquire(std::vector<std::string> resources, acquire_options options = lasting());
    error_code extend(lock& held, std::chrono::milliseconds ttl, report* told = nullptr);
    released release(lock held, report* told = nullptr);
    inspected inspect(std::string_view resource, report* told = nullptr);
    taken adopt(std::string_view resource, std::string_view owner_token,
                std::chrono::milliseconds ttl);
    error_code close();

    taken adopt(std::vector<std::string> resources, std::string_view owner_token,
                std::chrono::milliseconds ttl);

    /// An acquire that must succeed.
    redlock::lock take(std::string_view resource, acquire_options options = lasting());
    redlock::lock take(std::vector<std::string> resources, acquire_options options = lasting());
    /// A release that must find the keys.
    void give_back(redlock::lock held);

    pending<taken> begin_acquire(std::string_view resource, acquire_options options = lasting(),
                                 boost::asio::cancellation_slot stop = {});
    pending<released> begin_release(lock held, report* told = nullptr);
    pending<error_code> begin_extend(lock& held, std::chrono::milliseconds ttl);
    pending<error_code> begin_wait_lost(lock& held);
    pending<inspected> begin_inspect(std::string_view resource, report* told = nullptr);

    /// Runs the context until `done` returns true. False when `bound` has passed first.
    [[nodiscard]] bool await(const std::function<bool()>& done,
                             std::chrono::milliseconds bound = patience);

    /// Waits for an operation that has begun.
    template <class T>
    T finish(const pending<T>& begun)
    {
        run_until_done([&] { return begun->has_value(); });
        return std::move(**begun);
    }

    /// Waits until `count` nodes can be asked.
    [[nodiscard]] bool await_ready(std::size_t nodes);

    /**
     * Waits until every operation and every command has its answer. A node may still have pending
     * releases: the client repeats the release of a key that may still exist at growing intervals,
     * as long as the key could live.
     */
    [[nodiscard]] bool await_quiet();

    [[nodiscard]] redlock::stats stats() const;

    /// The log except for debug lines, and whether a line of that level contains a text.
    [[nodiscard]] const std::vector<std::string>& lines() const;
    [[nodiscard]] bool logged(log_level level, std::string_view text) const;

    void keep_secret(std::string text);

private:
    struct state;

    template <class Resource>
    pending<taken> ask_for(Resource resource, acquire_options options,
                           boost::asio::cancellation_slot stop = {});
    taken check(taken result, const acquire_options& options);

    void run_until_done(const std::function<bool()>& done);
    void check_told(const report* told);

    std::unique_ptr<state> state_;
};

/// The same, once the client can ask all its nodes.
class ready_locks : public locks {
public:
    explicit ready_locks(config c);
    explicit ready_locks(std::vector<std::string> nodes) : ready_locks(patient(std::move(nodes))) {}
};

/// Skips the test if no server of the kind is installed.
void need(flavour kind);

/// A generator: runs the test once with each of `kinds()`, or skips it.
[[nodiscard]] flavour each_kind();

}  // namespace redlock::test
