#pragma once

#include "support/masters.hpp"
#include "support/run.hpp"

#include <redlock/client.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace redlock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Longer than any test, so a key that is gone was deleted.
inline constexpr std::chrono::milliseconds long_ttl = never;

/// Three nodes that the tests of a program share. The first call starts them, and the first thread
/// must make it.
inline masters& nodes()
{
    static masters three(3);
    return three;
}

/// A configuration for those nodes. No answer is late before the test counts as hung.
inline config shared_config()
{
    config c;
    c.nodes = nodes().urls();
    c.node_timeout = patience;
    c.stall_timeout = patience;
    c.connect_timeout = patience;
    c.close_timeout = never;
    return c;
}

/// Runs the test with a client for one thread and with one for several.
inline config either_kind()
{
    config c = shared_config();
    c.thread_safe = GENERATE(false, true);
    return c;
}

/// A configuration for an acquire without options. Its ttl is 10 s, which doesn't allow a longer
/// node timeout.
inline config default_ttl_config()
{
    config c = shared_config();
    c.node_timeout = 2500ms;
    return c;
}

/// A configuration for locks with `brief_ttl`.
inline config brisk_config(bool thread_safe)
{
    config c = shared_config();
    c.node_timeout = brief_timeout;
    c.thread_safe = thread_safe;
    return c;
}

/// Runs the test with both kinds, one after the other.
inline config brisk_config()
{
    return brisk_config(GENERATE(false, true));
}

inline acquire_options long_lease()
{
    acquire_options o;
    o.ttl = long_ttl;
    o.timeout = never;
    return o;
}

/// A resource that no other test uses.
inline std::string fresh_name()
{
    static std::atomic<unsigned> count{0};
    return "asio/" + std::to_string(++count);
}

/// Counts the handlers of a test: each must be called once, or destroyed uncalled when its context
/// ends.
struct ledger {
    std::atomic<unsigned> called{0};
    std::atomic<unsigned> called_again{0};
    std::atomic<unsigned> destroyed_uncalled{0};
};

/// A handler that can't be copied and keeps a ledger.
template <class Function>
class once {
public:
    once(ledger& in, Function f) : in_(&in), function_(std::move(f)) {}
    once(once&& other) noexcept
        : in_(std::exchange(other.in_, nullptr)),
          function_(std::move(other.function_)),
          called_(other.called_)
    {}
    once& operator=(once&&) = delete;
    ~once()
    {
        if (in_ != nullptr && !called_) {
            ++in_->destroyed_uncalled;
        }
    }

    template <class... Args>
    void operator()(Args&&... args)
    {
        ++(std::exchange(called_, true) ? in_->called_again : in_->called);
        function_(std::forward<Args>(args)...);
    }

private:
    ledger* in_;
    Function function_;
    bool called_ = false;
};

/// A client with a context of its own.
class client_alone {
public:
    explicit client_alone(config c = shared_config()) : locks(std::in_place, io, std::move(c)) {}

    /// Starts the run, and waits for the connections.
    void start()
    {
        begin_run();
        if (!run_until(io, [this] { return locks->stats().nodes_ready == nodes().size(); })) {
            throw std::runtime_error("the client did not connect in time");
        }
    }

    void begin_run()
    {
        locks->async_run([this](error_code ec) { ended = ec; });
    }

    lock take(const std::string& name, const acquire_options& o = long_lease())
    {
        std::optional<error_code> done;
        lock taken;
        locks->async_acquire(name, o, [&](error_code ec, lock l) {
            done = ec;
            taken = std::move(l);
        });
        if (!run_until(io, [&] { return done.has_value(); })) {
            throw std::runtime_error("an acquire did not end in time");
        }
        if (*done) {
            throw boost::system::system_error(*done, "acquire");
        }
        return taken;
    }

    /// Waits until `count` nodes have the key.
    [[nodiscard]] bool keys_become(std::size_t count, const std::string& name)
    {
        return run_until(io, [&] { return nodes().count(name) == count; });
    }

    asio::io_context io{1};
    /// The result of the run.
    std::optional<error_code> ended;
    std::optional<client> locks;
};

/// The same, connected.
struct running_client : client_alone {
    explicit running_client(config c = shared_config()) : client_alone(std::move(c)) { start(); }
};

/// Another client has the resource, so a client that wants it must ask the nodes.
struct held_by_another {
    explicit held_by_another(const std::string& name) : theirs(another.take(name)) {}

    running_client another;
    lock theirs;
};

}  // namespace redlock::test
