#pragma once

#include "client_sim/clockwork.hpp"
#include "client_sim/sim_context.hpp"

#include <redlock/client.hpp>
#include <redlock/scope.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::test {

enum class verb : std::uint8_t {
    run,
    acquire,
    adopt,
    extend,
    release,
    inspect,
    wait_lost,
    close,
    script,
    scope,
};

/// A client from its construction to its end.
struct life {
    explicit life(std::size_t where) : seat(where) {}

    /// The place of this client. Clients follow each other there.
    const std::size_t seat;
    unsigned runs = 0;
    /// The client was closed or destroyed, or its run was cancelled.
    bool asked_to_end = false;
};

/// The state of one handler. It must be called once, or destroyed once if that is allowed.
struct record {
    record(unsigned n, verb w, life& l) : number(n), what(w), of(l) {}

    const unsigned number;
    const verb what;
    life& of;

    bool begun = false;
    bool initiating = false;
    unsigned called = 0;
    unsigned destroyed = 0;
    [[nodiscard]] bool open() const noexcept { return begun && called + destroyed == 0; }

    /// Whether the handler runs where it belongs.
    std::function<bool()> in_place;
    bool in_other_context = false;
    /// Number of blocks from its allocator.
    std::size_t blocks = 0;
    std::optional<boost::asio::cancellation_signal> signal{std::in_place};
    boost::asio::cancellation_type emitted = boost::asio::cancellation_type::none;
    /// The latest end.
    std::optional<base::instant> due;
    bool is_first_run = false;
    /// For a script: whether it has reached its first operation. Asio ends the program if a
    /// coroutine is cancelled before it began.
    bool runs = false;

    /// For a wait for a loss: its lock, and the lock's end as far as known.
    unsigned lock_number = 0;
    std::optional<base::instant> known_end;

    /// For a release: the result was `still_held`.
    bool is_nested = false;

    /// For a scope.
    unsigned bodies = 0;
    bool body_runs = false;
};

/// Receives the events of handlers.
class audience {
public:
    virtual void on_called(record& r, error_code ec, lock l) = 0;
    virtual void on_thrown(record& r, std::exception_ptr e) = 0;
    virtual void on_scope(record& r, const with_lock_result<void>& result) = 0;
    virtual void on_destroyed(record& r) noexcept = 0;

protected:
    ~audience() = default;
};

/// A handler for every signature, without any association.
class probe {
public:
    probe(audience& a, record& r) noexcept : audience_(&a), record_(&r) {}
    probe(probe&& o) noexcept
        : audience_(o.audience_),
          record_(std::exchange(o.record_, nullptr)),
          spent_(o.spent_)
    {}
    probe(const probe&) = delete;
    probe& operator=(probe&&) = delete;
    ~probe()
    {
        if (record_ != nullptr && !spent_) {
            audience_->on_destroyed(*record_);
        }
    }

    void operator()(error_code ec) { call(ec, {}); }
    void operator()(error_code ec, lock l) { call(ec, std::move(l)); }
    void operator()(error_code ec, release_result what)
    {
        record_->is_nested = !ec && what == release_result::still_held;
        call(ec, {});
    }
    void operator()(error_code ec, const inspection&) { call(ec, {}); }
    void operator()(const with_lock_result<void>& result)
    {
        spent_ = true;
        audience_->on_scope(*record_, result);
    }
    void operator()(std::exception_ptr e)
    {
        spent_ = true;
        audience_->on_thrown(*record_, std::move(e));
    }

protected:
    [[nodiscard]] record& of() const noexcept { return *record_; }

private:
    void call(error_code ec, lock l)
    {
        spent_ = true;
        audience_->on_called(*record_, ec, std::move(l));
    }

    audience* audience_;
    record* record_;
    bool spent_ = false;
};

/// Counts the blocks of one handler.
template <class T>
class counting_allocator {
public:
    using value_type = T;

    explicit counting_allocator(record& r) noexcept : blocks_(&r.blocks) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& o) noexcept : blocks_(o.blocks_)
    {}

    [[nodiscard]] T* allocate(std::size_t n)
    {
        T* block = std::allocator<T>().allocate(n);
        ++*blocks_;
        return block;
    }
    void deallocate(T* p, std::size_t n) noexcept
    {
        --*blocks_;
        std::allocator<T>().deallocate(p, n);
    }

    template <class U>
    [[nodiscard]] bool operator==(const counting_allocator<U>& o) const noexcept
    {
        return blocks_ == o.blocks_;
    }

private:
    template <class>
    friend class counting_allocator;

    std::size_t* blocks_;
};

/// A handler with executor, allocator and cancellation slot.
template <class Executor>
class bound_probe : public probe {
public:
    using executor_type = Executor;
    using allocator_type = counting_allocator<void>;
    using cancellation_slot_type = boost::asio::cancellation_slot;

    bound_probe(audience& a, record& r, Executor ex)
        : probe(a, r),
          executor_(std::move(ex)),
          allocator_(r),
          slot_(r.signal->slot())
    {}

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_; }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return slot_; }

private:
    Executor executor_;
    allocator_type allocator_;
    cancellation_slot_type slot_;
};

}  // namespace redlock::test
