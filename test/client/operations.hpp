#pragma once

#include "client/fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/detached.hpp>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace redlock::test {

using asio::cancellation_type;

inline constexpr auto started_only = cancellation_type::terminal | cancellation_type::partial;
inline constexpr auto every_type = started_only | cancellation_type::total;

/// The objects that a test's operation uses.
struct scene : client_alone {
    using client_alone::client_alone;

    std::string name = fresh_name();
    lock held;
    std::string owner;
};

struct running_scene : scene {
    explicit running_scene(config c = shared_config()) : scene(std::move(c)) { start(); }
};

// One struct for each operation: what it needs before, how it begins with any token, how to see
// that it succeeded, and which types of cancellation it honours. `result` is the value beside the
// error code.

struct running {
    using result = void;
    static constexpr auto cancels = started_only;

    static void prepare(scene&) {}
    template <class... Token>
    static auto begin(scene& s, Token&&... token)
    {
        return s.locks->async_run(std::forward<Token>(token)...);
    }
    static bool fulfilled(scene&) { return true; }
    /// Makes the operation end. Call it after the operation has begun.
    static void finish(scene& s) { s.locks->async_close(asio::detached); }
    static error_code when_closed() { return errc::closed; }
};

struct while_running {
    static constexpr auto cancels = started_only;

    static void prepare(scene& s) { s.start(); }
    static void finish(scene&) {}
    static error_code when_closed() { return errc::closed; }
};

struct acquiring : while_running {
    using result = lock;
    static constexpr auto cancels = every_type;

    template <class... Token>
    static auto begin(scene& s, Token&&... token)
    {
        return s.locks->async_acquire(s.name, long_lease(), std::forward<Token>(token)...);
    }
    static bool fulfilled(scene& s, const lock& l)
    {
        return l.owns() && l.resource() == s.name && nodes().count(s.name) >= 2;
    }
};

struct adopting : while_running {
    using result = lock;

    static void prepare(scene& s)
    {
        s.start();
        s.owner = s.take(s.name).detach();
    }
    template <class... Token>
    static auto begin(scene& s, Token&&... token)
    {
        return s.locks->async_adopt(s.name, s.owner, long_ttl, extend_options{},
                                    std::forward<Token>(token)...);
    }
    static bool fulfilled(scene& s, const lock& l)
    {
        return l.owns() && l.owner_token() == s.owner;
    }
};

struct extending : while_running {
    using result = void;

    static void prepare(scene& s)
    {
        s.start();
        s.held = s.take(s.name);
    }
    template <class... Token>
    static auto begin(scene& s, Token&&... token)
    {
        return s.locks->async_extend(s.held, 2 * long_ttl, std::forward<Token>(token)...);
    }
    static bool fulfilled(scene& s) { return s.held.remaining() > long_ttl; }
};

struct releasing : extending {
    using result = release_result;

    template <class... Token>
    static auto begin(scene& s, Token&&... token)
    {
        return s.locks->async_release(std::move(s.held), std::forward<Token>(token)...);
    }
    static bool fulfilled(scene& s, release_result r)
    {
        return r == release_result::released && nodes().count(s.name) <= 1;
    }
};

struct inspecting : extending {
    using result = inspection;
    static constexpr auto cancels = every_type;

    template <class... Token>
    static auto begin(scene& s, Token&&... token)
    {
        return s.locks->async_inspect(s.name, std::forward<Token>(token)...);
    }
    static bool fulfilled(scene&, const inspection& i)
    {
        return i.state == lock_state::held && i.owner_known && i.agreeing >= 2;
    }
};

struct closing : while_running {
    using result = void;

    template <class... Token>
    static auto begin(scene& s, Token&&... token)
    {
        return s.locks->async_close(std::forward<Token>(token)...);
    }
    static bool fulfilled(scene& s) { return s.ended == error_code{}; }
    static error_code when_closed() { return {}; }
};

using all_operations =
    std::tuple<running, acquiring, adopting, extending, releasing, inspecting, closing>;

/// The result of an operation.
template <class Operation>
struct outcome {
    using result = typename Operation::result;
    static constexpr bool has_value = !std::is_void_v<result>;

    bool done = false;
    error_code error;
    std::conditional_t<has_value, std::optional<result>, bool> value{};

    void take(error_code ec) requires(!has_value)
    {
        done = true;
        error = ec;
    }
    template <class Value>
    requires has_value void take(error_code ec, Value v)
    {
        done = true;
        error = ec;
        value.emplace(std::move(v));
    }

    /// A completion handler that stores the result.
    [[nodiscard]] auto receiver()
    {
        return [this](error_code ec, auto&&... values) {
            this->take(ec, std::forward<decltype(values)>(values)...);
        };
    }

    [[nodiscard]] bool fulfilled(scene& s) const
    {
        if constexpr (has_value) {
            return done && !error && Operation::fulfilled(s, *value);
        } else {
            return done && !error && Operation::fulfilled(s);
        }
    }
};

}  // namespace redlock::test
