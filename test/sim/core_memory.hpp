#pragma once

#include "core/client_core.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace redlock::sim {

/// Bytes that the cores of this thread's clients have allocated with operator new and not freed,
/// whoever owns them now. Always zero under a sanitizer that replaces operator new.
class memory_of_cores {
public:
    /// Charges allocations to the core of that client while an object of this class lives.
    class in {
    public:
        explicit in(unsigned client) noexcept;
        ~in();
        in(const in&) = delete;
        in& operator=(const in&) = delete;

    private:
        unsigned before_;
    };

    [[nodiscard]] static std::int64_t of(unsigned client) noexcept;
};

/// A core whose memory is counted.
class counted_core {
    /// Counts until the end of the expression that calls the core.
    class called {
    public:
        called(unsigned client, core::client_core& core) noexcept : in_(client), core_(core) {}
        core::client_core* operator->() const noexcept { return &core_; }

    private:
        memory_of_cores::in in_;
        core::client_core& core_;
    };

public:
    explicit counted_core(unsigned client) noexcept : client_(client) {}

    template <class... Args>
    void begin(Args&&... args)
    {
        before_ = memory_of_cores::of(client_);
        const memory_of_cores::in now(client_);
        core_ = std::make_unique<core::client_core>(std::forward<Args>(args)...);
    }
    void end() noexcept { core_.reset(); }

    /// Bytes of this core, without what an earlier core left allocated.
    [[nodiscard]] std::int64_t memory() const noexcept
    {
        return memory_of_cores::of(client_) - before_;
    }
    [[nodiscard]] bool is_there() const noexcept { return core_ != nullptr; }
    called operator->() const noexcept { return {client_, *core_}; }

private:
    unsigned client_;
    std::int64_t before_ = 0;
    std::unique_ptr<core::client_core> core_;
};

}  // namespace redlock::sim
