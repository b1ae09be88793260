#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/boxed_handler.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/lock.hpp>
#include <redlock/resource_names.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <chrono>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

// Building blocks of the operations in client.hpp.
namespace redlock {

class client;

namespace detail {

using engine_ptr = std::shared_ptr<engine::driver>;
using ticket_ptr = std::shared_ptr<ticket>;

inline constexpr auto cancels_started =
    boost::asio::cancellation_type::terminal | boost::asio::cancellation_type::partial;
inline constexpr auto cancels_total = cancels_started | boost::asio::cancellation_type::total;

/// Functions of the compiled library. A function that begins an operation takes over its
/// completion.
struct operations {
    using executor_type = boost::asio::any_io_executor;

    REDLOCK_API static void run(engine_ptr&, completion*, const ticket_ptr&);
    REDLOCK_API static void acquire(engine_ptr&, const resource_names&, const acquire_options&,
                                    completion*, const ticket_ptr&);
    /// The same with default options, which the caller's unit then need not make and carry.
    REDLOCK_API static void acquire(engine_ptr&, const resource_names&, completion*,
                                    const ticket_ptr&);
    REDLOCK_API static void adopt(engine_ptr&, const resource_names&, std::string_view owner,
                                  std::chrono::milliseconds ttl, const extend_options&, completion*,
                                  const ticket_ptr&);
    REDLOCK_API static void extend(engine_ptr&, lock&, std::chrono::milliseconds ttl,
                                   const extend_options&, completion*, const ticket_ptr&);
    REDLOCK_API static void release(engine_ptr&, lock, const release_options&, completion*,
                                    const ticket_ptr&);
    REDLOCK_API static void inspect(engine_ptr&, std::string_view resource, const inspect_options&,
                                    completion*, const ticket_ptr&);
    REDLOCK_API static void wait_lost(engine_ptr&, lock&, completion*, const ticket_ptr&);
    REDLOCK_API static void close(engine_ptr&, completion*, const ticket_ptr&);

    [[nodiscard]] REDLOCK_API static executor_type executor_of(const engine_ptr&) noexcept;
    [[nodiscard]] REDLOCK_API static hop hops_of(const engine_ptr&) noexcept;
    /// Returns the engine, for code that may outlive the client.
    [[nodiscard]] static engine_ptr engine_of(const client& c) noexcept;
};

/// Handler in the cancellation slot of an operation. One type serves all operations.
struct operation_canceller {
    engine_ptr driver;
    ticket_ptr told;
    boost::asio::cancellation_type honoured;

    REDLOCK_API void operator()(boost::asio::cancellation_type type) const noexcept;
};

/// Makes an operation cancellable by its slot. Returns the ticket by which the cancellation finds
/// the operation. The ticket does not come from the handler's allocator, because the slot may
/// outlive that.
template <class Slot>
[[nodiscard]] ticket_ptr cancellable_by(Slot& slot, const engine_ptr& driver,
                                        boost::asio::cancellation_type honoured)
{
    auto told = std::make_shared<ticket>();
    slot.assign(operation_canceller{driver, told, honoured});
    return told;
}
/// The same for Asio's own slots, which nearly all slots are. Compiled into the library.
[[nodiscard]] REDLOCK_API ticket_ptr cancellable_by(boost::asio::cancellation_slot& slot,
                                                    const engine_ptr& driver,
                                                    boost::asio::cancellation_type honoured);

/// Boxes the handler, makes it cancellable, and begins the operation.
template <class Unpack, class Begin>
struct initiation {
    using executor_type = operations::executor_type;

    engine_ptr driver;
    Begin begin;
    boost::asio::cancellation_type honoured;

    [[nodiscard]] executor_type get_executor() const noexcept
    {
        return operations::executor_of(driver);
    }

    template <class Handler, class... Args>
    void operator()(Handler&& h, Args&&... args)
    {
        using handler_type = std::decay_t<Handler>;
        ticket_ptr told;
        if (auto slot = boost::asio::get_associated_cancellation_slot(h); slot.is_connected()) {
            told = detail::cancellable_by(slot, driver, honoured);
        }
        handler_type handler(std::forward<Handler>(h));
        auto* boxed = boxed_handler<handler_type, Unpack>::make(
            std::move(handler), operations::executor_of(driver), operations::hops_of(driver));
        begin(driver, boxed, told, std::forward<Args>(args)...);
    }
};

template <class Signature, class Unpack, class Token, class Begin, class... Args>
auto initiate(const engine_ptr& d, Token& token, Begin begin,
              boost::asio::cancellation_type honoured = cancels_started, Args&&... args)
{
    return boost::asio::async_initiate<Token, Signature>(
        initiation<Unpack, Begin>{d, std::move(begin), honoured}, token,
        std::forward<Args>(args)...);
}

}  // namespace detail
}  // namespace redlock
